// The few rules that every store must apply alike and that need no database: what skipped delivery keys make of a
// message, how a row that is still in the outbox is shown, and which items a list filter lets through.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "ports/store.h"

namespace postrider {

// Delivery keys that existed already, joined for people: "a, b, c", bounded.
void append_skipped(std::string& skipped, std::string_view key);

/// How many of the rows taken from the outbox at once may be of the priority lane: never all, so that it starves
/// nobody.
constexpr std::size_t priority_rows(std::size_t rows_max) { return rows_max - rows_max / 4; }

struct MessageEnd {
  MessageState state = MessageState::Expanded;
  Reason reason = Reason::Expanded;
  std::string detail = {};
};
enum class Made : bool { Nothing, Something };
/// What becomes of a message some of whose delivery keys existed: Duplicate when nothing was made, else what was
/// decided, with the keys in its detail.
MessageEnd after_skipped(MessageEnd decided, Made made, std::string_view skipped);

/// Absent from the table of message states: expanded, with deliveries, nothing more to say.
bool is_plain(const MessageEnd& end, Made made);
/// A sealed secret is still needed: the message can become deliveries (again).
bool may_expand_again(MessageState state);

/// Since when an outbox row waits: its admission, or the time in its UUIDv7; the epoch when neither is there.
Instant waiting_since(const OutboxRow& row);
MessageView pending_view(const OutboxRow& row, TenantId tenant);
ListItem pending_item(const OutboxRow& row, TenantId tenant);

/// What accept() finds where `made` has the id of a row that waits in the outbox without an entry (or with one).
void add_waiting(const OutboxRow& row, const NewMessage& made, DedupFound& found);

/// `ListFilter::state` understood. A word that is a delivery's state means deliveries in it (and messages without
/// deliveries, where the same word is a message's state); any other word means everything of messages in that state.
struct StateFilter {
  std::optional<DeliveryState> delivery = {};
  std::optional<MessageState> message = {};
};
Result<StateFilter> parse_state_filter(std::string_view text);

struct Addressed {  // what a message without deliveries says about itself
  std::optional<Channel> channel = {};
  std::string_view recipient = {};
};
/// Tenant, state, type, entity, channel, recipient and times; the keyset is the store's matter. `message` is looked at
/// only for an item without a delivery.
bool lets_through(const ListFilter& filter, const StateFilter& state, const ListItem& item, const Addressed& message);

/// The ids that a filter's times allow: [from, before).
struct IdRange {
  RowId from = 0;
  RowId before = 0;
};
IdRange id_range(const std::optional<Instant>& from, const std::optional<Instant>& until,
                 const std::optional<RowId>& before);
inline IdRange id_range(const ListFilter& filter) { return id_range(filter.from, filter.until, filter.before); }

/// The same for messages: which states, as a list and as bits (1 << state), and whether a row of the outbox is shown.
bool wants(const MessageFilter& filter, MessageState state);
int state_mask(const MessageFilter& filter);
bool lets_through(const MessageFilter& filter, const MessageView& pending);
/// As pending_view(), of a row that was read without its contents; its id is 0.
MessageView listed_view(OutboxRow row, TenantId tenant);

/// A text as it stands in JSON, with its quotation marks: what a payload is searched for.
std::string quoted(std::string_view text);
/// [[tenant, "key"], …]: how contacts go into a statement.
std::string contacts_json(std::span<const ContactRef> contacts);

/// How many of the newest outbox rows a list looks at.
inline constexpr std::size_t kPendingLookedAtMax = 20'000;

/// Why a delivery is not wanted any more; on the row of one that a node holds it is a mark.
struct CancelMark {
  Reason reason = Reason::CancelledByOperator;
  std::string why = {};
};
/// Where it was when it was called off. No: it had ended or is parked, or was marked before, and nothing was changed.
enum class CalledOff : std::uint8_t { No, WasQueued, WasRetrying, WasHeld };
/// For the audit.
std::string_view words_of(CalledOff where);

/// Unknown, or not one of those a completion may carry.
bool may_end_a_lease(DeliveryState state);

}  // namespace postrider
