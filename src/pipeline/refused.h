// Addresses that were suppressed after a delivery was made, found before its call.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

#include "ports/store.h"

namespace postrider {

/// Why each of these deliveries is not to be sent any more.
using RefusedDeliveries = std::map<RowId, std::string>;

/// A suppression ends at once what waits for the address as it is written there. Mail addresses are compared without
/// regard to case, and no index finds all ways to write one: those are found here, among what is about to be called.
/// One thread's own.
class RefusedCheck {
 public:
  /// Nothing is asked while no address is suppressed at all, which is looked at once a second.
  Result<RefusedDeliveries> among(StoreSession& store, Instant now, std::span<const Claim> claims);

 private:
  std::optional<Instant> looked_at_;
  bool any_ = false;
};

}  // namespace postrider
