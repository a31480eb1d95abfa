// From one message to its deliveries: which templates, which recipients, what content, under which keys. Pure.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <span>
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

/// Contacts that were looked up for a batch of messages.
class People {
 public:
  void add(Contact contact);
  [[nodiscard]] const Contact* contact(TenantId tenant, std::string_view key) const;

 private:
  std::map<std::pair<TenantId, std::string>, Contact, std::less<>> contacts_;
};

/// What expanding one message takes, beside the message.
struct ExpandWith {
  const Rules& rules;
  const TemplateSet& templates;
  const People& people;
  Instant now = {};
  std::string_view record = {};                             // what the route's context query found: a JSON object
  std::optional<std::span<const ListMember>> members = {};  // the part of its list that is to be made now
  bool members_are_all = false;                             // that part is the whole list
};

/// What must be known before a message can be expanded.
struct ExpandNeeds {
  std::vector<std::string> contacts = {};  // their keys
  std::string list = {};                   // it goes to everybody on this list
  const ContextRule* context = nullptr;    // its record is asked for first
  std::optional<Instant> not_before = {};  // a list is looked at when the message is due
  /// It cannot be expanded in the transaction that takes its row.
  [[nodiscard]] bool takes_time() const { return !list.empty() || context != nullptr; }
};
ExpandNeeds needs_of(const Message& message, const Rules& rules);
/// When a message is due: at its own time, or at the one that its route finds in payload and record. Empty: at once, or
/// the date is none.
std::optional<Instant> due_by(const Message& message, const Rules& rules, std::string_view record);

/// Row ids are not given here. `message.uuid` must be set: it stands in keys without an entity.
Expansion expand(const Message& message, const ExpandWith& with, ExpandRange range);
/// The same with the templates of the configuration file, and nobody known.
Expansion expand(const Message& message, const Rules& rules, Instant now, ExpandRange range);

/// Ends a new delivery to an address that must not be written to.
void apply(const Suppression& suppression, NewDelivery& made);

/// `{entityId}:{type}[:{version}]:{channel}:{templateId}[:{recipient}]`, the message's id in place of a missing entity
/// id and for direct messages. That of a resend is its message's own key: `manual:…`.
std::string delivery_key(const Message& message, Channel channel, std::string_view template_id,
                         std::string_view recipient);

}  // namespace postrider
