#include <algorithm>
#include <limits>

#include "store/model/model_session.h"

namespace postrider::model {
namespace {

// What was written late goes before what it was made with.
Delivery as_sent(const ModelDatabase& db, RowId id) {
  Delivery d = db.deliveries.at(id);
  const auto late = db.renderings.find(id);
  if (d.rendering != Rendering::Late || late == db.renderings.end()) return d;
  const LateRendering& r = late->second;
  d.template_version = r.template_version;
  d.locale = r.locale;
  d.subject = r.subject;
  d.body = r.body;
  d.html = r.html;
  d.warnings = r.warnings;
  return d;
}

DeliveryView look_at(ModelDatabase& db, RowId id) {
  DeliveryView view;
  view.delivery = as_sent(db, id);
  if (const auto settled = db.settled.find(id); settled != db.settled.end()) {
    view.state = settled->second.state;
    view.reason = settled->second.reason;
    view.detail = settled->second.detail;
    view.since = settled->second.at;
    auto last = db.attempts.lower_bound({id + 1, 0, 0});
    if (last != db.attempts.begin() && (--last)->first.delivery == id) view.attempts = last->second.attempt;
  } else if (const auto parked = db.parked.find(id); parked != db.parked.end()) {
    view.state = DeliveryState::Parked;
    view.reason = parked->second.reason;
    view.detail = parked->second.detail;
    view.attempts = parked->second.attempt;
    view.since = parked->second.at;
  } else if (const auto due = db.due_of.find(id); due != db.due_of.end()) {
    const WaitingRow& row = db.deferred.at({due->second, id});
    view.state = DeliveryState::Retrying;
    view.reason = row.reason;
    view.detail = row.detail;
    view.attempts = row.attempt;
    view.due_at = due->second;
  } else {
    const auto at = db.find_queued(id);
    POSTRIDER_CHECK(at != db.queue.end());  // a delivery is in exactly one place
    const QueueRow& row = at->second;
    view.state = row.node != 0 ? DeliveryState::Sending : DeliveryState::Queued;
    view.reason = Reason::Waiting;
    view.attempts = row.attempt;
    if (row.node != 0) {
      view.since = row.claimed_at;
      view.provider = db.provider_name(row.provider);
    }
    if (row.cancelled) {
      view.reason = row.cancelled->reason;
      view.detail = row.cancelled->why;
    }
  }
  return view;
}

std::vector<AttemptView> attempts_of(const ModelDatabase& db, RowId delivery) {
  std::vector<AttemptView> tries;
  for (auto at = db.attempts.lower_bound({delivery, 0, 0}); at != db.attempts.end() && at->first.delivery == delivery;
       ++at) {
    const auto& [key, row] = *at;
    tries.push_back({row.attempt, key.fence, key.seq != 0, db.provider_name(row.provider), row.end.outcome,
                     row.end.reason, row.end.provider_message_id, row.end.excerpt, row.end.started_at,
                     row.end.ended_at});
  }
  return tries;
}

MessageView look_at_message_alone(ModelDatabase& db, const Message& message) {
  MessageView view;
  view.message = message;
  if (const auto secret = db.secrets.find(message.id); secret != db.secrets.end()) {
    view.message.sealed = secret->second;
  }
  view.state = MessageState::Expanded;
  view.reason = Reason::Expanded;
  if (const auto state = db.states.find(message.id); state != db.states.end()) {
    view.state = state->second.state;
    view.reason = state->second.reason;
    view.detail = state->second.detail;
    view.attempts = state->second.attempts;
    view.since = state->second.at;
  }
  if (const auto due = db.due_of.find(message.id); due != db.due_of.end()) view.next_attempt = due->second;
  return view;
}

std::vector<RowId> delivery_ids(const ModelDatabase& db, RowId message, const DeliveryRange& range) {
  std::vector<RowId> ids;
  const auto [first, last] = db.deliveries_of.equal_range(message);
  for (auto at = first; at != last; ++at) {
    if (at->second > range.after) ids.push_back(at->second);
  }
  std::sort(ids.begin(), ids.end());
  if (ids.size() > range.count_max) ids.resize(range.count_max);
  return ids;
}

MessageView look_at_message(ModelDatabase& db, const Message& message, const DeliveryRange& range) {
  MessageView view = look_at_message_alone(db, message);
  const auto [first, last] = db.deliveries_of.equal_range(message.id);
  for (auto at = first; at != last; ++at) {
    const DeliveryView each = look_at(db, at->second);
    ++view.counts.total;
    ++view.counts.by_state[each.state];
    if (each.state == DeliveryState::Retrying && each.reason == Reason::Scheduled) ++view.counts.scheduled;
  }
  for (const RowId id : delivery_ids(db, message.id, range)) {
    view.deliveries.push_back(look_at(db, id));
    view.deliveries.back().tries = attempts_of(db, id);
  }
  return view;
}

std::optional<RowId> find_message(const ModelDatabase& db, std::optional<TenantId> tenant, const Uuid& id) {
  std::optional<RowId> found;
  for (TenantId t = 0; static_cast<std::size_t>(t) <= db.tenants.size(); ++t) {
    if (tenant && *tenant != t) continue;
    const auto at = db.dedup.find(dedup_id(t, id));
    if (at != db.dedup.end() && (!found || at->second.id < *found)) found = at->second.id;
  }
  return found;
}

void add_message_state(const ModelDatabase& db, RowId message, ListItem& item) {
  item.message_state = MessageState::Expanded;
  item.reason = Reason::Expanded;
  if (const auto state = db.states.find(message); state != db.states.end()) {
    item.message_state = state->second.state;
    item.reason = state->second.reason;
    item.detail = state->second.detail;
  }
}

std::vector<ListItem> pending_items(const ModelDatabase& db, const ListFilter& filter, const StateFilter& state) {
  std::vector<ListItem> items;
  if (filter.before || state.delivery || state.message.value_or(MessageState::Pending) != MessageState::Pending) {
    return items;
  }
  std::size_t looked_at = 0;
  for (auto at = db.outbox.rbegin(); at != db.outbox.rend() && items.size() < filter.count_max; ++at) {
    if (++looked_at > kPendingLookedAtMax) break;
    ListItem item = pending_item(at->second, db.tenant_number(at->second.tenant));
    if (lets_through(filter, state, item, {parse_channel(at->second.channel), at->second.recipient})) {
      items.push_back(std::move(item));
    }
  }
  return items;
}

std::vector<ListItem> made_items(ModelDatabase& db, const ListFilter& filter, const StateFilter& state) {
  std::vector<ListItem> items;
  const IdRange range = id_range(filter);
  for (const auto& [id, delivery] : db.deliveries) {
    if (id < range.from || id >= range.before) continue;
    ListItem item{.id = id, .message_uuid = delivery.message_uuid, .tenant = delivery.tenant, .type = delivery.type};
    add_message_state(db, delivery.message, item);
    const Message& message = db.messages.at(delivery.message);
    item.entity_id = message.entity_id;
    item.accepted_at = message.accepted_at;
    item.delivery = look_at(db, id);
    if (!lets_through(filter, state, item, {})) continue;
    if (filter.whole) {
      item.delivery->tries = attempts_of(db, id);
      item.message = std::make_shared<const Message>(message);
    }
    items.push_back(std::move(item));
  }
  for (const auto& [id, message] : db.messages) {
    if (id < range.from || id >= range.before || db.deliveries_of.contains(id)) continue;
    ListItem item{.id = id, .message_uuid = message.uuid, .tenant = message.tenant, .type = message.type};
    add_message_state(db, id, item);
    item.entity_id = message.entity_id;
    item.accepted_at = message.accepted_at;
    if (!lets_through(filter, state, item, {message.channel, message.recipient})) continue;
    if (filter.whole) item.message = std::make_shared<const Message>(message);
    items.push_back(std::move(item));
  }
  std::sort(items.begin(), items.end(), [](const ListItem& a, const ListItem& b) { return a.id > b.id; });
  if (items.size() > filter.count_max) items.resize(filter.count_max);
  return items;
}

/// What was for one address, and what would have been.
class AddressedReader {
 public:
  AddressedReader(ModelDatabase& db, const AddressedFilter& filter)
      : db_(db), filter_(filter), quoted_(quoted(filter.address)) {}

  AddressedPage page() {
    AddressedPage page;
    if (!filter_.before) page.items = waiting();
    IdRange range = id_range({.from = filter_.from, .before = filter_.before});
    if (const auto floor = last_looked_at(range)) {
      range.from = *floor + 1;
      page.next = range.from;
    }
    std::vector<ListItem> found = made(range);
    if (found.size() > filter_.count_max) {
      found.resize(filter_.count_max);
      page.next = found.back().id;
    }
    page.items.insert(page.items.end(), found.begin(), found.end());
    return page;
  }

 private:
  [[nodiscard]] bool is_asked_for(TenantId tenant, const std::string& type) const {
    return (!filter_.tenant || *filter_.tenant == tenant) && (filter_.type.empty() || filter_.type == type);
  }
  [[nodiscard]] bool is_of(TenantId tenant, const std::string& contact) const {
    const auto& contacts = filter_.contacts;
    return std::find(contacts.begin(), contacts.end(), ContactRef{tenant, contact}) != contacts.end();
  }
  template <class Row>
  [[nodiscard]] bool names(TenantId tenant, const Row& row) const {
    return row.recipient == filter_.address || is_of(tenant, row.contact) ||
           row.payload.find(quoted_) != std::string::npos;
  }

  // The first of the messages without deliveries that this page does not look at any more.
  [[nodiscard]] std::optional<RowId> last_looked_at(const IdRange& range) const {
    std::size_t looked_at = 0;
    for (auto at = db_.states.rbegin(); at != db_.states.rend(); ++at) {
      if (at->first < range.from || at->first >= range.before) continue;
      const TenantId tenant = db_.messages.at(at->first).tenant;
      if (filter_.tenant && *filter_.tenant != tenant) continue;
      if (looked_at++ == filter_.looked_at_max) return at->first;
    }
    return std::nullopt;
  }

  std::vector<ListItem> made(const IdRange& range) {
    std::vector<ListItem> items;
    const auto inside = [&](RowId id) { return id >= range.from && id < range.before; };
    for (const auto& [id, d] : db_.deliveries) {
      const bool ours = d.recipient == filter_.address || (d.recipient.empty() && is_of(d.tenant, d.contact));
      if (!inside(id) || !ours || !is_asked_for(d.tenant, d.type)) continue;
      ListItem item{.id = id, .message_uuid = d.message_uuid, .tenant = d.tenant, .type = d.type};
      add_message_state(db_, d.message, item);
      item.accepted_at = db_.messages.at(d.message).accepted_at;
      item.delivery = look_at(db_, id);
      items.push_back(std::move(item));
    }
    for (const auto& [id, m] : db_.messages) {
      if (!inside(id) || db_.deliveries_of.contains(id) || !is_asked_for(m.tenant, m.type)) continue;
      if (!names(m.tenant, m)) continue;
      ListItem item{.id = id, .message_uuid = m.uuid, .tenant = m.tenant, .type = m.type};
      add_message_state(db_, id, item);
      item.accepted_at = m.accepted_at;
      items.push_back(std::move(item));
    }
    std::sort(items.begin(), items.end(), [](const ListItem& a, const ListItem& b) { return a.id > b.id; });
    return items;
  }

  [[nodiscard]] std::vector<ListItem> waiting() const {
    std::vector<ListItem> items;
    std::size_t looked_at = 0;
    for (auto at = db_.outbox.rbegin(); at != db_.outbox.rend() && items.size() < filter_.count_max; ++at) {
      if (++looked_at > filter_.looked_at_max) break;
      const OutboxRow& row = at->second;
      const TenantId tenant = db_.tenant_number(row.tenant);
      if (is_asked_for(tenant, row.type) && names(tenant, row)) items.push_back(pending_item(row, tenant));
    }
    return items;
  }

  ModelDatabase& db_;
  const AddressedFilter& filter_;
  std::string quoted_;
};

}  // namespace

Result<AddressedPage> ModelSession::addressed(const AddressedFilter& filter) {
  const Held db = hold();
  return AddressedReader{*db, filter}.page();
}

Result<MessageView> ModelSession::message(std::optional<TenantId> tenant, const Uuid& id, const DeliveryRange& range) {
  const Held db = hold();
  const auto found = find_message(*db, tenant, id);
  if (found) {
    if (const auto at = db->messages.find(*found); at != db->messages.end())
      return look_at_message(*db, at->second, range);
  }
  const auto look = [&](auto&& is_it) -> std::optional<MessageView> {
    for (const auto& [position, row] : db->outbox) {
      const TenantId owner = db->tenant_number(row.tenant);
      if (is_it(row) && (!tenant || *tenant == owner)) return pending_view(row, owner);
    }
    return std::nullopt;
  };
  if (found) {
    if (auto view = look([&](const OutboxRow& row) { return row.accepted == found; })) return std::move(*view);
  }
  if (auto view = look([&](const OutboxRow& row) { return parse_uuid(row.id) == id; })) return std::move(*view);
  return Error{ErrorCode::NotFound, "there is no message " + format_uuid(id)};
}

Result<std::vector<RowId>> ModelSession::deliveries_of(RowId message, const DeliveryRange& range) {
  const Held db = hold();
  return delivery_ids(*db, message, range);
}

Result<std::vector<ListItem>> ModelSession::list(const ListFilter& filter) {
  POSTRIDER_TRY(state, parse_state_filter(filter.state));
  const Held db = hold();
  std::vector<ListItem> items = pending_items(*db, filter, state);
  for (ListItem& item : made_items(*db, filter, state)) items.push_back(std::move(item));
  return items;
}

Result<std::vector<MessageView>> ModelSession::messages(const MessageFilter& filter) {
  const Held db = hold();
  std::vector<MessageView> page;
  if (!filter.before && wants(filter, MessageState::Pending)) {
    std::size_t looked_at = 0;
    for (auto at = db->outbox.rbegin(); at != db->outbox.rend() && page.size() < filter.count_max; ++at) {
      if (++looked_at > kPendingLookedAtMax) break;
      MessageView view = listed_view(at->second, db->tenant_number(at->second.tenant));
      if (lets_through(filter, view)) page.push_back(std::move(view));
    }
  }
  const IdRange range = id_range(filter.from, filter.until, filter.before);
  for (auto at = db->messages.rbegin(); at != db->messages.rend() && page.size() < filter.count_max; ++at) {
    const auto& [id, message] = *at;
    if (id < range.from || id >= range.before || (filter.tenant && *filter.tenant != message.tenant)) continue;
    MessageView view = look_at_message_alone(*db, message);
    if (wants(filter, view.state)) page.push_back(std::move(view));
  }
  return page;
}

Result<std::vector<SandboxItem>> ModelSession::sandbox(std::optional<TenantId> tenant,
                                                       std::span<const ProviderId> providers,
                                                       std::optional<RowId> before, std::size_t count_max) {
  const Held db = hold();
  std::map<RowId, SandboxItem, std::greater<>> items;
  for (const auto& [key, row] : db->attempts) {
    const bool asked = std::find(providers.begin(), providers.end(), row.provider) != providers.end();
    if (!asked || row.end.outcome != OutcomeKind::Accepted) continue;
    if (key.delivery >= before.value_or(std::numeric_limits<RowId>::max())) continue;
    const Delivery delivery = as_sent(*db, key.delivery);
    if (tenant && *tenant != delivery.tenant) continue;
    SandboxItem& item = items[key.delivery];
    ++item.calls;
    if (item.calls > 1 && row.end.ended_at <= item.sent_at) continue;
    item.id = key.delivery;
    item.delivery = delivery;
    item.provider = db->provider_name(row.provider);
    item.sent_at = row.end.ended_at;
  }
  std::vector<SandboxItem> out;
  for (auto& [id, item] : items) {
    if (out.size() == count_max) break;
    out.push_back(std::move(item));
  }
  return out;
}

Result<QueueStats> ModelSession::stats(std::optional<TenantId> tenant) {
  const Held db = hold();
  QueueStats stats;
  const auto wanted = [&](TenantId t) { return !tenant || *tenant == t; };
  const auto note = [&](Instant since) { stats.oldest = stats.oldest ? std::min(*stats.oldest, since) : since; };
  for (const auto& [key, row] : db->queue) {
    if (!wanted(key.group.tenant)) continue;
    note(id_time(key.position));
    ++(key.group.channel == Channel::Expand ? stats.outbox : row.node == 0 ? stats.queued : stats.sending);
  }
  for (const auto& [key, row] : db->deferred) {
    if (wanted(row.group.tenant)) ++(row.group.channel == Channel::Expand ? stats.outbox : stats.retrying);
  }
  for (const auto& [id, row] : db->parked) stats.parked += wanted(row.group.tenant) ? 1U : 0U;
  bool first = true;
  for (const auto& [position, row] : db->outbox) {
    if (!wanted(db->tenant_number(row.tenant))) continue;
    ++stats.outbox;
    if (const Instant since = waiting_since(row); first && since != Instant{}) note(since);
    first = false;
  }
  return stats;
}

Result<std::vector<LateDelivery>> ModelSession::late_deliveries(std::span<const RowId> ids) {
  const Held db = hold();
  std::vector<LateDelivery> found;
  for (const RowId id : ids) {
    const auto delivery = db->deliveries.find(id);
    if (delivery == db->deliveries.end()) return Error{ErrorCode::Corrupt, "a held delivery that is not there"};
    Message message = db->messages.at(delivery->second.message);
    if (const auto secret = db->secrets.find(message.id); secret != db->secrets.end()) message.sealed = secret->second;
    found.push_back({delivery->second, std::move(message)});
  }
  return found;
}

}  // namespace postrider::model
