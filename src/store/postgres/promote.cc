#include "store/postgres/rows.h"

namespace postrider::postgres {
namespace {

QueueGroup read_group(const Rows& rows, int row) {
  return {static_cast<Lane>(rows.number(row, 0)), static_cast<Channel>(rows.number(row, 1)),
          static_cast<TenantId>(rows.number(row, 2))};
}

// Months since 1970: partitions are looked after when it changes.
std::int64_t month_of(Instant now) {
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(now)};
  return static_cast<int>(date.year()) * 12 + static_cast<int>(static_cast<unsigned>(date.month()));
}

}  // namespace

Result<QueueStore::Promoted> PostgresSession::promote(Instant now, std::size_t count_max) {
  return run([&](Connection& c) {
    Promoted promoted;
    const auto next = [&]() -> std::optional<Instant> {
      const Rows rows = c.query("due_next");
      return rows.empty() ? std::nullopt : std::optional{rows.time(0, 0)};
    };
    promoted.next_due = next();
    if (!promoted.next_due || *promoted.next_due > now) return promoted;
    Array positions{Type::Int8};
    for (std::size_t i = 0; i < count_max; ++i) positions.add_int8(ids().next(now));
    const Rows rows =
        c.query("promote", Params{}.time(now).int4(static_cast<std::int64_t>(count_max)).array(positions));
    Groups groups;
    for (int i = 0; i < rows.count(); ++i) groups.insert(read_group(rows, i));
    promoted.rows = static_cast<std::size_t>(rows.count());
    promoted.groups = as_list(groups);
    promoted.next_due = next();
    return promoted;
  });
}

Result<std::vector<Claim>> PostgresSession::take_over(Instant now, NodeId node, std::size_t count_max) {
  return run([&](Connection& c) {
    c.query("release_expand_of_lost");
    const Rows rows = c.write("take_over", Params{}.int4(static_cast<std::int64_t>(count_max)).int4(node));
    std::vector<Claim> claims;
    for (int i = 0; i < rows.count(); ++i) {
      Claim& claim = claims.emplace_back(read_held(rows, i, 0));
      claim.lease.claimed_at = rows.optional_time(i, kHeldColumns).value_or(now);
      read_delivery(rows, i, kHeldColumns + 1, claim.delivery);
    }
    return claims;
  });
}

Result<std::size_t> PostgresSession::expire(Instant now, std::size_t count_max) {
  if (partitions_for_ != month_of(now)) {
    const auto ensured = run([&](Connection& c) {
      c.query("ensure_partitions", Params{}.time(now));
      return Done{};
    });
    if (!ensured) return ensured.error();
    partitions_for_ = month_of(now);
  }
  return transact([&](Connection& c) {
    std::size_t count = 0;
    SettledRows settled;
    Array ids{Type::Int8};
    for (const char* where : {"expired_queue", "expired_deferred", "expired_parked"}) {
      if (count >= count_max) break;
      const Rows rows = c.query(where, Params{}.time(now).int4(static_cast<std::int64_t>(count_max - count)));
      for (int i = 0; i < rows.count(); ++i) {
        const RowId id = rows.number(i, 0);
        ids.add_int8(id);
        settled.add({id, static_cast<TenantId>(rows.number(i, 1)), DeliveryState::Expired, Reason::Expired, ""}, now);
      }
      count += static_cast<std::size_t>(rows.count());
    }
    if (count == 0) return count;
    settled.write(c);
    c.query("secret_drop_of_deliveries", Params{}.array(ids));
    return count;
  });
}

}  // namespace postrider::postgres
