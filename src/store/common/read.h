// The whole story of one message, and what waits in all.
#pragma once
#include <algorithm>

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
std::optional<MessageView> look_at_message(Connection& c, RowId id) {
  auto view = look_at_message_alone(c, id);
  if (!view) return view;
  std::vector<RowId> ids;
  {
    auto rows = c.use("deliveries_of_message").query(id);
    while (rows.next()) ids.push_back(rows.integer(0));
  }
  for (const RowId delivery : ids) {
    auto seen = look_at_delivery(c, delivery);
    if (!seen) continue;
    seen->tries = look_at_attempts(c, delivery);
    view->deliveries.push_back(std::move(*seen));
  }
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
std::optional<MessageView> story_of(Connection& c, std::optional<TenantId> tenant, const Uuid& id) {
  const auto found = find_message(c, tenant, id);
  if (found) {
    if (auto seen = look_at_message(c, found->id)) return seen;
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

}  // namespace postrider::common
