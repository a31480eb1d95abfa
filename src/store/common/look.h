// Reading one delivery or one message as it stands now, shared by the verbs that look.
#pragma once
#include "store/common/rows.h"

namespace postrider::common {

struct FoundMessage {
  RowId id = 0;
  TenantId tenant = 0;
};

template <class Connection>
std::string provider_name(Connection& c, std::int64_t id) {
  auto rows = c.use("provider_name").query(id);
  return rows.next() ? rows.text(0) : "";
}

// Columns from `from`: attempt, node, provider, claimed_at, cancel_reason, cancel_why.
template <class Connection, class Rows>
void read_queue_place(Connection& c, const Rows& rows, int from, DeliveryView& view) {
  const bool held = rows.integer(from + 1) != 0;
  view.state = held ? DeliveryState::Sending : DeliveryState::Queued;
  view.reason = Reason::Waiting;
  view.attempts = rows.template number<int>(from);
  if (!held) return;
  view.since = rows.maybe_instant(from + 3);
  view.provider = provider_name(c, rows.integer(from + 2));
  if (rows.is_null(from + 4)) return;
  view.reason = rows.reason(from + 4);
  view.detail = rows.text(from + 5);
}

template <class Connection>
bool read_place(Connection& c, DeliveryView& view) {
  const Delivery& d = view.delivery;
  auto rows = c.use("place_of").query(d.id, d.lane, d.channel, d.tenant);
  if (!rows.next()) return false;
  if (!rows.is_null(0)) {
    view.state = rows.one_of(0, DeliveryState::Sent, DeliveryState::Expired);
    view.reason = rows.reason(1);
    view.detail = rows.text(2);
    view.since = rows.instant(3);
    view.attempts = static_cast<int>(c.use("attempt_last").integer(d.id).value_or(0));
  } else if (!rows.is_null(4)) {
    view.state = DeliveryState::Parked;
    view.attempts = rows.template number<int>(4);
    view.reason = rows.reason(5);
    view.detail = rows.text(6);
    view.since = rows.instant(7);
  } else if (!rows.is_null(8)) {
    view.state = DeliveryState::Retrying;
    view.attempts = rows.template number<int>(8);
    view.reason = rows.reason(9);
    view.detail = rows.text(10);
    view.due_at = rows.instant(11);
  } else if (!rows.is_null(12)) {
    read_queue_place(c, rows, 12, view);
  } else {
    return false;
  }
  return true;
}

template <class Connection>
std::optional<DeliveryView> look_at_delivery(Connection& c, RowId id) {
  DeliveryView view;
  {
    auto rows = c.use("delivery_of").query(id);
    if (!rows.next()) return std::nullopt;
    view.delivery = read_whole_delivery(rows);
  }
  add_rendering(c, view.delivery);
  if (read_place(c, view)) return view;
  const Delivery& d = view.delivery;
  auto rows = c.use("queue_of").query(d.lane, d.channel, d.tenant, d.id);
  if (!rows.next()) c.fail_corrupt("a delivery that is nowhere");
  read_queue_place(c, rows, 0, view);
  return view;
}

template <class Connection>
std::vector<AttemptView> look_at_attempts(Connection& c, RowId delivery) {
  std::vector<AttemptView> tries;
  auto rows = c.use("attempts_of").query(delivery);
  while (rows.next()) {
    AttemptView& t = tries.emplace_back();
    t.number = rows.template number<int>(0);
    t.fence = rows.template number<int>(1);
    t.late = rows.integer(2) != 0;
    t.provider = rows.text(3);
    t.outcome = rows.one_of(4, OutcomeKind::Accepted, OutcomeKind::Unmapped);
    t.reason = rows.reason(5);
    t.provider_message_id = rows.text(6);
    t.excerpt = rows.text(7);
    t.started_at = rows.instant(8);
    t.ended_at = rows.instant(9);
  }
  return tries;
}

template <class Connection>
std::optional<FoundMessage> find_message(Connection& c, std::optional<TenantId> tenant, const Uuid& uuid) {
  auto rows = tenant ? c.use("message_find").query(*tenant, uuid) : c.use("message_find_any").query(uuid);
  if (!rows.next()) return std::nullopt;
  return FoundMessage{rows.integer(0), rows.template number<TenantId>(1)};
}

template <class Connection>
TenantId tenant_number(Connection& c, std::string_view name) {
  return static_cast<TenantId>(c.use("tenant_find").integer(name).value_or(0));
}

}  // namespace postrider::common
