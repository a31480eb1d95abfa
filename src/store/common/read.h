// The whole story of one message, and what waits in all.
#pragma once
#include <algorithm>
#include <span>

#include "store/common/look.h"
#include "store/rules.h"

namespace postrider::common {

template <class Connection>
std::optional<MessageView> look_at_message_alone(Connection& c, RowId id) {
  MessageView view;
  {
    auto rows = c.use("message_of").query(id);
    if (!rows.next()) return std::nullopt;
    view.message = read_message(rows);
  }
  view.state = MessageState::Expanded;
  view.reason = Reason::Expanded;
  if (const auto state = find_state(c, id)) {
    view.state = state->state;
    view.reason = state->reason;
    view.detail = state->detail;
    view.attempts = state->attempts;
    view.since = state->at;
  }
  if (const auto due = c.use("message_next_attempt").integer(id)) view.next_attempt = instant_from_us(*due);
  return view;
}

template <class Connection>
std::vector<RowId> delivery_ids(Connection& c, RowId message, const DeliveryRange& range) {
  std::vector<RowId> ids;
  auto rows = c.use("deliveries_of_message").query(message, range.after, range.count_max);
  while (rows.next()) ids.push_back(rows.integer(0));
  return ids;
}

template <class Connection>
DeliveryCounts count_deliveries(Connection& c, RowId message) {
  DeliveryCounts counts;
  {
    auto rows = c.use("count_deliveries").query(message);
    while (rows.next()) {
      const auto state = rows.one_of(0, DeliveryState::Queued, DeliveryState::Expired);
      const auto count = rows.template number<std::size_t>(1);
      counts.by_state[state] = count;
      counts.total += count;
      counts.scheduled += rows.template number<std::size_t>(2);
    }
  }
  const auto queued = counts.by_state.find(DeliveryState::Queued);
  if (queued == counts.by_state.end()) return counts;
  const auto sending = static_cast<std::size_t>(c.use("count_sending").integer(message).value_or(0));
  if (sending > 0) counts.by_state[DeliveryState::Sending] = sending;
  queued->second -= std::min(queued->second, sending);
  if (queued->second == 0) counts.by_state.erase(queued);
  return counts;
}

inline DeliveryCounts count_of(std::span<const DeliveryView> all) {
  DeliveryCounts counts{.total = all.size()};
  for (const DeliveryView& each : all) {
    ++counts.by_state[each.state];
    counts.scheduled += each.state == DeliveryState::Retrying && each.reason == Reason::Scheduled ? 1 : 0;
  }
  return counts;
}

// Counting those that are being sent looks at the whole queue: only where not all of a message's deliveries are seen
// one by one.
template <class Connection>
std::optional<MessageView> look_at_message(Connection& c, RowId id, const DeliveryRange& range) {
  auto view = look_at_message_alone(c, id);
  if (!view) return view;
  const std::vector<RowId> ids = delivery_ids(c, id, range);
  for (const RowId delivery : ids) {
    auto seen = look_at_delivery(c, delivery);
    if (!seen) continue;
    seen->tries = look_at_attempts(c, delivery);
    view->deliveries.push_back(std::move(*seen));
  }
  const bool all = range.after == 0 && ids.size() < range.count_max;
  view->counts = all ? count_of(view->deliveries) : count_deliveries(c, id);
  return view;
}

template <class Connection, class Rows>
std::optional<MessageView> first_pending(Connection& c, Rows& rows, std::optional<TenantId> tenant) {
  while (rows.next()) {
    const OutboxRow row = read_outbox_row(rows);
    const TenantId owner = tenant_number(c, row.tenant);
    if (!tenant || *tenant == owner) return pending_view(row, owner);
  }
  return std::nullopt;
}

template <class Connection>
std::optional<MessageView> look_in_outbox(Connection& c, std::optional<TenantId> tenant, const Uuid& id,
                                          std::optional<RowId> accepted) {
  if (accepted) {
    auto rows = c.use("outbox_by_accepted").query(*accepted);
    if (auto view = first_pending(c, rows, tenant)) return view;
  }
  auto rows = c.use("outbox_by_id").query(format_uuid(id));
  return first_pending(c, rows, tenant);
}

template <class Connection>
std::optional<MessageView> story_of(Connection& c, std::optional<TenantId> tenant, const Uuid& id,
                                    const DeliveryRange& range) {
  const auto found = find_message(c, tenant, id);
  if (found) {
    if (auto seen = look_at_message(c, found->id, range)) return seen;
  }
  return look_in_outbox(c, tenant, id, found ? std::optional{found->id} : std::nullopt);
}

template <class Connection>
QueueStats count_waiting(Connection& c, std::optional<TenantId> tenant) {
  QueueStats stats;
  const auto count = [](const auto& rows, int column) { return rows.template number<std::size_t>(column); };
  const auto note = [&](Instant since) { stats.oldest = stats.oldest ? std::min(*stats.oldest, since) : since; };
  if (auto rows = c.use("stats_queue").query(tenant); rows.next()) {
    stats.outbox = count(rows, 0);  // expand work: messages that are not expanded yet, like those in the outbox
    stats.queued = count(rows, 1);
    stats.sending = count(rows, 2);
    if (const auto position = rows.maybe_integer(3)) note(id_time(*position));
  }
  if (auto rows = c.use("stats_deferred").query(tenant); rows.next()) {
    stats.outbox += count(rows, 0);
    stats.retrying = count(rows, 1);
  }
  if (auto rows = c.use("stats_parked").query(tenant); rows.next()) stats.parked = count(rows, 0);
  if (auto rows = c.use("stats_outbox").query(tenant); rows.next()) stats.outbox += count(rows, 0);
  if (auto rows = c.use("stats_outbox_head").query(tenant); rows.next()) {
    const Instant since = waiting_since({.accepted = rows.maybe_integer(0), .id = rows.text(1)});
    if (since != Instant{}) note(since);
  }
  return stats;
}

template <class Connection>
std::vector<LateDelivery> read_late_deliveries(Connection& c, std::span<const RowId> ids) {
  std::vector<LateDelivery> found;
  found.reserve(ids.size());
  for (const RowId id : ids) {
    LateDelivery late;
    {
      auto rows = c.use("delivery_of").query(id);
      if (!rows.next()) c.fail_corrupt("a held delivery that is not there");
      late.delivery = read_whole_delivery(rows);
    }
    auto rows = c.use("message_of").query(late.delivery.message);
    if (!rows.next()) c.fail_corrupt("a delivery without its message");
    late.message = read_message(rows);
    found.push_back(std::move(late));
  }
  return found;
}

}  // namespace postrider::common
