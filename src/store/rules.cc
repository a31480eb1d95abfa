#include "store/rules.h"

#include <algorithm>
#include <limits>

#include "base/json.h"

namespace postrider {
namespace {

constexpr std::size_t kSkippedBytesMax = 2000;
constexpr std::string_view kBetween = ", ";
constexpr std::string_view kMore = "…";

}  // namespace

void append_skipped(std::string& skipped, std::string_view key) {
  if (skipped.ends_with(kMore)) return;
  if (!skipped.empty()) skipped += kBetween;
  skipped += skipped.size() + key.size() <= kSkippedBytesMax || skipped.empty() ? key : kMore;
}

MessageEnd after_skipped(MessageEnd decided, Made made, std::string_view skipped) {
  if (skipped.empty()) return decided;
  if (made == Made::Nothing) {
    return {MessageState::Duplicate, Reason::DuplicateDelivery, std::string{skipped.substr(0, skipped.find(kBetween))}};
  }
  if (decided.state != MessageState::Expanded) return decided;
  return {MessageState::Expanded, Reason::DuplicateDelivery, std::string{skipped}};
}

bool is_plain(const MessageEnd& end, Made made) {
  return made == Made::Something && end.state == MessageState::Expanded && end.reason == Reason::Expanded &&
         end.detail.empty();
}

bool may_expand_again(MessageState state) {
  switch (state) {
    case MessageState::Pending:
    case MessageState::Expanding:
    case MessageState::Ignored:
    case MessageState::Failed: return true;
    case MessageState::Expanded:
    case MessageState::Duplicate:
    case MessageState::Cancelled: return false;
  }
  POSTRIDER_DIE("a MessageState outside its enum");
}

Instant waiting_since(const OutboxRow& row) {
  if (row.accepted) return id_time(*row.accepted);
  const auto id = parse_uuid(row.id);
  return id ? uuid7_time(*id).value_or(Instant{}) : Instant{};
}

MessageView pending_view(const OutboxRow& row, TenantId tenant) {
  MessageView view;
  view.message = read_row(row).message;
  view.message.id = row.accepted.value_or(0);
  view.message.tenant = tenant;
  view.message.accepted_at = waiting_since(row);
  return view;
}

ListItem pending_item(const OutboxRow& row, TenantId tenant) {
  ListItem item;
  item.message_uuid = parse_uuid(row.id).value_or(Uuid{});
  item.tenant = tenant;
  item.type = row.type;
  item.entity_id = row.entity_id;
  item.message_state = MessageState::Pending;
  item.reason = Reason::Waiting;
  item.accepted_at = waiting_since(row);
  return item;
}

void add_waiting(const OutboxRow& row, const NewMessage& made, DedupFound& found) {
  const Candidate& candidate = made.candidate;
  if (row.tenant != made.row.tenant || parse_uuid(row.id) != candidate.uuid) return;
  found.emplace(dedup_id(candidate.tenant, candidate.uuid), DedupEntry{.body = body_hash(row), .uuid = candidate.uuid});
}

Result<StateFilter> parse_state_filter(std::string_view text) {
  StateFilter filter{parse_delivery_state(text), parse_message_state(text)};
  if (!text.empty() && !filter.delivery && !filter.message) {
    return Error{ErrorCode::Invalid, "\"" + std::string{text} + "\" is no state of a delivery or a message"};
  }
  return filter;
}

bool lets_through(const ListFilter& filter, const StateFilter& state, const ListItem& item, const Addressed& message) {
  if (filter.tenant && *filter.tenant != item.tenant) return false;
  if (!filter.type.empty() && filter.type != item.type) return false;
  if (!filter.entity.empty() && filter.entity != item.entity_id) return false;
  // An item's time is that of its id; a row of the outbox has none yet and is judged by what is known of it.
  const Instant at = item.id != 0 ? id_time(item.id) : item.accepted_at;
  if (filter.from && at < std::chrono::floor<std::chrono::milliseconds>(*filter.from)) return false;
  if (filter.until && at >= std::chrono::floor<std::chrono::milliseconds>(*filter.until)) return false;
  const auto channel = item.delivery ? std::optional{item.delivery->delivery.channel} : message.channel;
  if (filter.channel && filter.channel != channel) return false;
  const std::string_view recipient = item.delivery ? item.delivery->delivery.recipient : message.recipient;
  if (!filter.recipient.empty() && filter.recipient != recipient) return false;
  if (state.delivery && item.delivery) return item.delivery->state == *state.delivery;
  if (state.delivery && !state.message) return false;
  return !state.message || item.message_state == *state.message;
}

IdRange id_range(const std::optional<Instant>& from, const std::optional<Instant>& until,
                 const std::optional<RowId>& before) {
  IdRange range{0, std::numeric_limits<RowId>::max()};
  if (from) range.from = id_floor(*from);
  if (until) range.before = id_floor(*until);
  if (before) range.before = std::min(range.before, *before);
  return range;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string contacts_json(std::span<const ContactRef> contacts) {
  JsonWriter json;
  json.begin_array();
  for (const ContactRef& contact : contacts) {
    json.begin_array().value(static_cast<std::int64_t>(contact.tenant)).value(contact.key).end_array();
  }
  return json.end_array().take();
}

bool wants(const MessageFilter& filter, MessageState state) {
  return filter.states.empty() || std::find(filter.states.begin(), filter.states.end(), state) != filter.states.end();
}

int state_mask(const MessageFilter& filter) {
  int mask = 0;
  for (const MessageState state : kMessageStates) mask |= wants(filter, state) ? 1 << static_cast<int>(state) : 0;
  return mask;
}

bool lets_through(const MessageFilter& filter, const MessageView& pending) {
  if (filter.tenant && *filter.tenant != pending.message.tenant) return false;
  if (filter.from && pending.message.accepted_at < *filter.from) return false;
  return !filter.until || pending.message.accepted_at < *filter.until;
}

MessageView listed_view(OutboxRow row, TenantId tenant) {
  row.payload = "{}";
  MessageView view = pending_view(row, tenant);
  // Stores read these in different shapes, or not at all.
  for (std::string* content : {&view.message.payload, &view.message.sealed, &view.message.subject, &view.message.body,
                               &view.message.type_data}) {
    content->clear();
  }
  view.message.id = 0;
  return view;
}

std::string_view words_of(CalledOff where) {
  switch (where) {
    case CalledOff::No: return "";
    case CalledOff::WasQueued: return "was queued";
    case CalledOff::WasRetrying: return "was retrying";
    case CalledOff::WasHeld: return "was being sent: it is not tried again";
  }
  POSTRIDER_DIE("a CalledOff outside its enum");
}

bool may_end_a_lease(DeliveryState state) {
  switch (state) {
    case DeliveryState::Sent:
    case DeliveryState::Delivered:
    case DeliveryState::Retrying:
    case DeliveryState::Parked:
    case DeliveryState::Cancelled:
    case DeliveryState::Suppressed:
    case DeliveryState::Expired: return true;
    case DeliveryState::Queued:
    case DeliveryState::Sending:
    case DeliveryState::Discarded: return false;
  }
  POSTRIDER_DIE("a DeliveryState outside its enum");
}

}  // namespace postrider
