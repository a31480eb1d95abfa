// From one message to its deliveries: which templates, which recipients, what content, under which keys. Pure.
#pragma once
#include <cstddef>
#include <vector>

#include "core/delivery.h"
#include "core/message.h"
#include "core/rules.h"

namespace postrider {

struct NewDelivery {
  Delivery delivery = {};
  Placement placement = {};
  /// The key is made from the message's own id, so no other message can have it and no look-up is needed.
  bool key_is_own = false;
};

struct Expansion {
  MessageState state = MessageState::Expanded;
  Reason reason = Reason::Expanded;
  std::string detail = {};
  std::vector<NewDelivery> deliveries = {};
  std::size_t recipients_total = 0;  // over all templates; more than were asked for means: in chunks
};

/// Which of the (template × recipient) pairs to make, in their fixed order.
struct ExpandRange {
  std::size_t from = 0;
  std::size_t count = 0;
};

/// Row ids are not given here. `message.uuid` must be set: it stands in keys without an entity.
Expansion expand(const Message& message, const Rules& rules, Instant now, ExpandRange range);

/// `{entityId}:{type}[:{version}]:{channel}:{templateId}[:{recipient}]`, the message's id in place of a missing entity
/// id.
std::string delivery_key(const Message& message, Channel channel, std::string_view template_key,
                         std::string_view recipient);

}  // namespace postrider
