// Answers of a store as text, so that two of them can be compared and a difference can be read. Positions are left out:
// they are the store's own matter.
#pragma once
#include <string>
#include <vector>

#include "ports/store.h"

namespace postrider::conformance {

std::string describe(const QueueGroup& group);
std::string describe(const std::vector<QueueGroup>& groups);
std::string describe(const Lease& lease);
std::string describe(const Delivery& delivery);
std::string describe(const Message& message);
std::string describe(const std::vector<std::vector<Admitted>>& answers);
std::string describe(const Claim& claim);
std::string describe(const std::vector<Claim>& claims);
std::string describe(const ExpandReport& report);
std::string describe(const ExpandWork& work);
std::string describe(const std::vector<Recorded>& answers);
std::string describe(const QueueStore::Promoted& promoted);
std::string describe(const Acted& acted);
std::string describe(const CancelledEntity& cancelled);
std::string describe(const std::vector<QueueHead>& heads);
std::string describe(const QueueStats& stats);
std::string describe(const ListItem& item);
std::string describe(const SandboxItem& item);
std::string describe(const DeliveryView& view);
std::string describe(const MessageView& view);

}  // namespace postrider::conformance
