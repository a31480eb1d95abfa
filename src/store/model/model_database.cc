#include "store/model/model_database.h"

#include <algorithm>

#include "base/canary.h"

namespace postrider::model {

void ModelDatabase::insert_outbox(OutboxRow row) {
  row.position = ++last_position;
  outbox.emplace(row.position, std::move(row));
}

TenantId ModelDatabase::tenant_number(std::string_view name) const {
  const auto found = std::find(tenants.begin(), tenants.end(), name);
  return found == tenants.end() ? 0 : static_cast<TenantId>(found - tenants.begin()) + 1;
}

std::string ModelDatabase::provider_name(ProviderId id) const {
  return id < 1 || static_cast<std::size_t>(id) > providers.size() ? "" : providers[static_cast<std::size_t>(id) - 1];
}

void ModelDatabase::defer(Instant due_at, RowId id, WaitingRow row) {
  deferred.emplace(DeferredKey{due_at, id}, std::move(row));
  due_of.emplace(id, due_at);
}

std::map<QueueKey, QueueRow>::iterator ModelDatabase::find_held(const Lease& l) {
  const auto at = queue.find({{l.lane, l.channel, l.tenant}, l.position});
  const bool held = at != queue.end() && at->second.id == l.id && (at->second.fence == l.fence || canary("no_fence")) &&
                    at->second.node != 0;
  return held ? at : queue.end();
}

std::optional<WaitingRow> ModelDatabase::take_deferred(RowId id) {
  const auto due = due_of.find(id);
  if (due == due_of.end()) return std::nullopt;
  const auto at = deferred.find({due->second, id});
  if (at->second.group.channel == Channel::Expand) return std::nullopt;
  WaitingRow row = std::move(at->second);
  deferred.erase(at);
  due_of.erase(due);
  return row;
}

std::map<QueueKey, QueueRow>::iterator ModelDatabase::find_queued(RowId id) {
  return std::find_if(queue.begin(), queue.end(), [&](const auto& entry) {
    return entry.second.id == id && entry.first.group.channel != Channel::Expand;
  });
}

bool ModelDatabase::drop_waiting(RowId id) {
  const auto at = find_queued(id);
  if (at == queue.end() || at->second.node != 0) return false;
  queue.erase(at);
  return true;
}

CalledOff ModelDatabase::call_off(Instant now, RowId id, const CancelMark& mark) {
  const bool retrying = take_deferred(id).has_value();
  if (retrying || drop_waiting(id)) {
    settle_called_off(now, id, mark);
    return retrying ? CalledOff::WasRetrying : CalledOff::WasQueued;
  }
  const auto at = find_queued(id);
  if (at == queue.end() || at->second.node == 0 || at->second.cancelled) return CalledOff::No;
  at->second.cancelled = mark;
  return CalledOff::WasHeld;
}

bool ModelDatabase::drop_expansion(RowId message) {
  const auto due = due_of.find(message);
  if (due != due_of.end() && deferred.at({due->second, message}).group.channel == Channel::Expand) {
    deferred.erase({due->second, message});
    due_of.erase(due);
    return true;
  }
  const auto at = std::find_if(queue.begin(), queue.end(), [&](const auto& entry) {
    return entry.second.id == message && entry.first.group.channel == Channel::Expand;
  });
  if (at == queue.end()) return false;
  queue.erase(at);
  return true;
}

DeliveryState ModelDatabase::state_of(RowId delivery) {
  if (const auto end = settled.find(delivery); end != settled.end()) return end->second.state;
  if (parked.contains(delivery)) return DeliveryState::Parked;
  if (due_of.contains(delivery)) return DeliveryState::Retrying;
  const auto at = find_queued(delivery);
  POSTRIDER_CHECK(at != queue.end());  // a delivery is in exactly one place
  return at->second.node != 0 ? DeliveryState::Sending : DeliveryState::Queued;
}

void ModelDatabase::settle(RowId id, SettledRow row) {
  settled.emplace(id, std::move(row));
  if (const auto delivery = deliveries.find(id); delivery != deliveries.end()) {
    drop_secret_if_done(delivery->second.message);
  }
}

void ModelDatabase::settle_called_off(Instant now, RowId id, const CancelMark& mark) {
  settle(id, {deliveries.at(id).tenant, state_when_called_off(mark.reason), mark.reason, mark.why, now});
}

void ModelDatabase::drop_secret_if_done(RowId message) {
  if (const auto state = states.find(message); state != states.end() && may_expand_again(state->second.state)) return;
  const auto [first, last] = deliveries_of.equal_range(message);
  const bool done = std::all_of(first, last, [&](const auto& entry) { return settled.contains(entry.second); });
  if (done) secrets.erase(message);
}

}  // namespace postrider::model
