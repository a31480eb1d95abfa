#include <algorithm>

#include "base/fault.h"
#include "base/limits.h"
#include "store/common/call_off.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

// Picks and takes up to `count_max` rows of one tenant behind a position.
void claim_share(Connection& c, Instant now, const ClaimRequest& request, const TenantShare& share, std::int64_t behind,
                 std::size_t count_max, std::vector<Claim>& claims) {
  const bool at_most_once = request.what == ClaimWhat::AtMostOnceOnly;
  const std::size_t first = claims.size();
  {
    Rows rows =
        c.use(at_most_once ? "claim_pick_once" : "claim_pick")
            .query(request.lane, request.channel, share.tenant, at_most_once, kCallsPerDeliveryMax, count_max, behind);
    while (rows.next()) {
      Claim& claim = claims.emplace_back();
      Lease& lease = claim.lease;
      lease.lane = request.lane;
      lease.channel = request.channel;
      lease.tenant = share.tenant;
      lease.position = rows.integer(0);
      lease.fence = rows.number<int>(1) + 1;
      lease.attempt = rows.number<int>(2) + 1;
      lease.provider = share.provider;
      lease.claimed_at = now;
      common::read_delivery(rows, 3, claim.delivery);
      lease.id = claim.delivery.id;
    }
  }
  if (claims.size() == first) return;
  const int taken =
      c.use(at_most_once ? "claim_take_range_once" : "claim_take_range")
          .run(request.lane, request.channel, share.tenant, at_most_once, kCallsPerDeliveryMax,
               claims.back().lease.position, request.node, share.provider, now, claims[first].lease.position);
  // Fewer were picked than taken where a queue row has no delivery: then nothing may be called.
  if (static_cast<std::size_t>(taken) != claims.size() - first) fail_corrupt("a queue row without its delivery");
}

// One that is held and was not given back was called off meanwhile.
void end_if_cancelled(Connection& c, Instant now, const Lease& l) {
  CancelMark mark;
  {
    Rows rows = c.use("queue_held").query(l.lane, l.channel, l.tenant, l.position, l.id, l.fence);
    if (!rows.next()) return;
    mark = {rows.reason(3), rows.text(4)};
  }
  c.use("queue_drop").run(l.lane, l.channel, l.tenant, l.position);
  common::Settler<Connection>{c, now}.settle(common::called_off(l.id, l.tenant, mark));
}

}  // namespace

Result<std::vector<QueueHead>> SqliteSession::heads(Look) {
  return read([](Connection& c) {
    std::vector<QueueHead> heads;
    Statement& after = c.use("head_after");
    // From the key of one group straight to the first row behind it.
    for (QueueGroup last{Lane{0}, Channel::Expand, 0};; last = heads.back().group) {
      Rows rows = after.query(last.lane, last.channel, last.tenant);
      if (!rows.next()) return heads;
      const QueueGroup group{rows.one_of(0, Lane::Priority, Lane::Bulk),
                             rows.one_of(1, Channel::Expand, Channel::InApp), rows.number<TenantId>(2)};
      heads.push_back({group, id_time(rows.integer(3))});
    }
  });
}

Result<std::vector<Claim>> SqliteSession::claim(Instant now, const ClaimRequest& request) {
  if (request.channel == Channel::Expand) {
    return Error{ErrorCode::Invalid, "expand work is claimed by claim_expand()"};
  }
  return writer_.transact([&](Connection& c) {
    std::vector<Claim> claims;
    claims.reserve(kBatchMax);
    std::size_t left = writer_.caps().move;
    for (const TenantShare& share : request.shares) {
      const std::size_t before = claims.size();
      const auto quota = std::min(left, static_cast<std::size_t>(std::max(share.quota, 0)));
      if (quota == 0) continue;
      const QueueGroup group{request.lane, request.channel, share.tenant};
      const std::int64_t floor = floors_.floor(group, request.what, now);
      claim_share(c, now, request, share, floor, quota, claims);
      if (const std::size_t found = claims.size() - before; found < quota && floor != 0) {
        floors_.forget(group);
        claim_share(c, now, request, share, 0, quota - found, claims);
      }
      for (std::size_t i = before; i < claims.size(); ++i)
        floors_.claimed(group, request.what, claims[i].lease.position);
      left -= claims.size() - before;
    }
    POSTRIDER_FAULT_POINT("in_claim");
    return claims;
  });
}

Result<Done> SqliteSession::give_back(Instant now, std::span<const Lease> leases) {
  if (leases.empty()) return Done{};
  return writer_.transact([&](Connection& c) {
    Statement& release = c.use("release");
    for (const Lease& lease : leases) {
      if (release.run(lease.lane, lease.channel, lease.tenant, lease.position, lease.id, lease.fence) == 0)
        end_if_cancelled(c, now, lease);
      floors_.forget({lease.lane, lease.channel, lease.tenant});
    }
    return Done{};
  });
}

}  // namespace postrider::sqlite
