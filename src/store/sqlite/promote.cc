#include <algorithm>

#include "base/fault.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

struct Due {
  Instant due_at = {};
  QueueRow row = {};
};

std::vector<Due> pick_due(Connection& c, Instant now, std::size_t count_max) {
  std::vector<Due> picked;
  Rows rows = c.use("due_pick").query(now, count_max);
  while (rows.next()) {
    picked.push_back({rows.instant(0),
                      {.lane = rows.one_of(2, Lane::Priority, Lane::Bulk),
                       .channel = rows.one_of(3, Channel::Expand, Channel::InApp),
                       .tenant = rows.number<TenantId>(4),
                       .id = rows.integer(1),
                       .fence = rows.number<int>(5),
                       .attempt = rows.number<int>(6),
                       .guarantee = rows.one_of(7, Guarantee::AtLeastOnce, Guarantee::Reconcile),
                       .expires_at = rows.maybe_instant(8)}});
  }
  return picked;
}

std::optional<Instant> next_due(Connection& c) {
  const auto us = c.use("due_next").integer();
  if (!us) return std::nullopt;
  return instant_from_us(*us);
}

// Rows whose node does not live, as a reader sees them: the whole queue is looked through without the write lock.
std::vector<Lease> find_orphans(Connection& c, std::size_t count_max) {
  std::vector<Lease> orphans;
  Rows rows = c.use("orphans").query(count_max);
  while (rows.next()) {
    Lease& lease = orphans.emplace_back();
    lease.lane = rows.one_of(0, Lane::Priority, Lane::Bulk);
    lease.channel = rows.one_of(1, Channel::Expand, Channel::InApp);
    lease.tenant = rows.number<TenantId>(2);
    lease.position = rows.integer(3);
    lease.id = rows.integer(4);
    lease.fence = rows.number<int>(5);
    lease.attempt = rows.number<int>(6);
    lease.provider = rows.number<ProviderId>(7);
    lease.claimed_at = rows.instant(8);
  }
  return orphans;
}

void take_orphan(Connection& c, NodeId node, Lease lease, std::vector<Claim>& taken) {
  if (lease.channel == Channel::Expand) {
    c.use("orphan_release").run(lease.lane, lease.channel, lease.tenant, lease.position, lease.fence);
    return;
  }
  if (c.use("orphan_take").run(lease.lane, lease.channel, lease.tenant, lease.position, node, lease.fence) != 1) return;
  ++lease.fence;
  Rows rows = c.use("delivery_of").query(lease.id);
  if (!rows.next()) fail_corrupt("a queue row without its delivery");
  taken.push_back({lease, common::read_delivery(rows, 0)});
}

struct Expired {
  enum class Where : std::uint8_t { Queue, Deferred, Parked } where = Where::Queue;
  QueueGroup group = {};
  std::int64_t position = 0;
  RowId id = 0;
};

std::vector<Expired> find_expired(Connection& c, Instant now, std::size_t count_max) {
  std::vector<Expired> found;
  {
    Rows rows = c.use("expired_queue").query(now, count_max);
    while (rows.next()) {
      found.push_back({Expired::Where::Queue,
                       {rows.one_of(0, Lane::Priority, Lane::Bulk), rows.one_of(1, Channel::Email, Channel::InApp),
                        rows.number<TenantId>(2)},
                       rows.integer(3),
                       rows.integer(4)});
    }
  }
  for (const auto where : {Expired::Where::Deferred, Expired::Where::Parked}) {
    const bool deferred = where == Expired::Where::Deferred;
    Rows rows = c.use(deferred ? "expired_deferred" : "expired_parked").query(now, count_max - found.size());
    while (rows.next()) found.push_back({where, {.tenant = rows.number<TenantId>(1)}, 0, rows.integer(0)});
  }
  return found;
}

bool drop_expired(Connection& c, const Expired& e) {
  switch (e.where) {
    case Expired::Where::Queue:
      return c.use("expired_queue_drop").run(e.group.lane, e.group.channel, e.group.tenant, e.position) == 1;
    case Expired::Where::Deferred: return c.use("deferred_drop").run(e.id) == 1;
    case Expired::Where::Parked: return c.use("parked_drop").run(e.id) == 1;
  }
  POSTRIDER_DIE("a place outside its enum");
}

}  // namespace

Result<QueueStore::Promoted> SqliteSession::promote(Instant now, std::size_t count_max) {
  const auto next = read([](Connection& c) { return next_due(c); });
  if (!next) return next.error();
  if (!*next || **next > now || count_max == 0) return Promoted{.next_due = *next};
  return writer_.transact([&](Connection& c) {
    Promoted promoted;
    Groups groups;
    for (Due& due : pick_due(c, now, std::min(count_max, writer_.caps().move))) {
      c.use("deferred_end").run(due.due_at, due.row.id);
      due.row.position = ids().next(now);
      common::add_queue_row(c, due.row);
      groups.insert({due.row.lane, due.row.channel, due.row.tenant});
      ++promoted.rows;
    }
    promoted.groups = as_list(groups);
    promoted.next_due = next_due(c);
    if (promoted.rows > 0) POSTRIDER_FAULT_POINT("in_promote");
    return promoted;
  });
}

Result<std::vector<Claim>> SqliteSession::take_over(Instant, NodeId node, std::size_t count_max) {
  const auto orphans = read([&](Connection& c) { return find_orphans(c, std::min(count_max, writer_.caps().move)); });
  if (!orphans) return orphans.error();
  if (orphans->empty()) return std::vector<Claim>{};
  return writer_.transact([&](Connection& c) {
    std::vector<Claim> taken;
    for (const Lease& lease : *orphans) take_orphan(c, node, lease, taken);
    POSTRIDER_FAULT_POINT("in_take_over");
    return taken;
  });
}

Result<std::size_t> SqliteSession::expire(Instant now, std::size_t count_max) {
  const auto found =
      read([&](Connection& c) { return find_expired(c, now, std::min(count_max, writer_.caps().move)); });
  if (!found) return found.error();
  if (found->empty()) return std::size_t{0};
  return writer_.transact([&](Connection& c) {
    common::Settler<Connection> settler{c, now};
    std::size_t count = 0;
    for (const Expired& e : *found) {
      if (!drop_expired(c, e)) continue;
      settler.settle({e.id, e.group.tenant, DeliveryState::Expired, Reason::Expired});
      ++count;
    }
    return count;
  });
}

}  // namespace postrider::sqlite
