#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "store/common/call_off.h"
#include "store/postgres/rows.h"

namespace postrider::postgres {
namespace {

// With the lane and the channel: the name of the advisory lock that is the turn of those who claim there.
constexpr int kClaimLock = 0x506f7374;
// A turn takes milliseconds. One that lasts belongs to a node that stands still; then we claim beside it for a while.
constexpr std::chrono::milliseconds kTurnWaitMax{250};
constexpr std::chrono::seconds kBesideFor{10};
// Fewer are searched for one by one. When others stand between those that were claimed, all are for a while.
constexpr std::size_t kInARowFrom = 16;
constexpr std::chrono::seconds kApartFor{1};

void settle_called_off(Connection& c, Instant now, const Rows& gone) {
  common::Settler<Connection> settler{c, now};
  for (int i = 0; i < gone.count(); ++i) {
    const auto reason = reason_from(gone.small(i, 2));
    if (!reason) Connection::fail_corrupt("a cancelled row without a reason");
    const CancelMark mark{*reason, gone.text(i, 3)};
    settler.settle(common::called_off(gone.number(i, 0), static_cast<TenantId>(gone.number(i, 1)), mark));
  }
}

// Those of the claims that have not got their delivery yet, in order of ids.
class Bare {
 public:
  explicit Bare(std::vector<Claim>& claims) {
    for (Claim& claim : claims) claims_.push_back(&claim);
    std::sort(claims_.begin(), claims_.end(), [](const Claim* a, const Claim* b) { return a->lease.id < b->lease.id; });
  }
  [[nodiscard]] bool empty() const { return claims_.empty(); }
  void ask(Connection& c, std::string_view statement) {
    Array ids{Type::Int8};
    for (const Claim* claim : claims_) ids.add_int8(claim->lease.id);
    const Rows rows = c.query(statement, Params{}.array(ids));
    for (int i = 0; i < rows.count(); ++i) {
      const auto it = std::lower_bound(claims_.begin(), claims_.end(), rows.number(i, 0),
                                       [](const Claim* claim, RowId id) { return claim->lease.id < id; });
      if (it != claims_.end() && (*it)->lease.id == rows.number(i, 0)) read_delivery(rows, i, 0, (*it)->delivery);
    }
    std::erase_if(claims_, [](const Claim* claim) { return claim->delivery.id != 0; });
  }

 private:
  std::vector<Claim*> claims_;
};

}  // namespace

Result<std::vector<QueueHead>> PostgresSession::heads(Look look) {
  return run([&](Connection& c) {
    std::vector<QueueHead> heads;
    const Rows rows = look == Look::BehindClaims ? heads_behind_claims(c) : c.query("heads");
    for (int i = 0; i < rows.count(); ++i) {
      heads.push_back({{static_cast<Lane>(rows.number(i, 0)), static_cast<Channel>(rows.number(i, 1)),
                        static_cast<TenantId>(rows.number(i, 2))},
                       id_time(rows.number(i, 3))});
    }
    return heads;
  });
}

Rows PostgresSession::heads_behind_claims(Connection& c) {
  Array lane{Type::Int2}, channel{Type::Int2}, tenant{Type::Int4}, floor{Type::Int8};
  for (const auto& [group, position] : floors_.lately()) {
    lane.add_int2(static_cast<int>(group.lane));
    channel.add_int2(static_cast<int>(group.channel));
    tenant.add_int4(group.tenant);
    floor.add_int8(position);
  }
  Params p;
  p.array(lane).array(channel).array(tenant).array(floor);
  return c.query("heads_behind", p);
}

/// All for one provider, as the dispatcher asks, in a turn; else, or when the turn lasts, row by row.
Rows PostgresSession::claim_rows(Connection& c, Instant now, const ClaimRequest& request) {
  Array tenant{Type::Int4}, quota{Type::Int4}, provider{Type::Int2}, floor{Type::Int8};
  bool one_provider = true;
  for (const TenantShare& share : request.shares) {
    tenant.add_int4(share.tenant);
    quota.add_int4(share.quota);
    provider.add_int2(share.provider);
    floor.add_int8(floors_.floor({request.lane, request.channel, share.tenant}, request.what, now));
    one_provider = one_provider && share.provider == request.shares.front().provider;
  }
  const bool once = request.what == ClaimWhat::AtMostOnceOnly;
  const auto params = [&](bool in_a_turn) {
    Params p;
    p.int2(static_cast<int>(request.lane)).int2(static_cast<int>(request.channel)).array(tenant).array(quota);
    in_a_turn ? p.int2(request.shares.front().provider) : p.array(provider);
    p.flag(once).int2(kCallsPerDeliveryMax).int4(request.node).time(now).array(floor);
    return p;
  };
  if (one_provider && !request.shares.empty() && std::chrono::steady_clock::now() >= beside_until_) {
    Params turn;
    turn.int4(kClaimLock).int2(static_cast<int>(request.lane)).int2(static_cast<int>(request.channel));
    turn.int4(kTurnWaitMax.count());
    try {
      return c.write_after("claim_turn", turn, once ? "claim_once" : "claim", params(true));
    } catch (const LockTimeout&) {
      beside_until_ = std::chrono::steady_clock::now() + kBesideFor;
    }
  }
  return c.write(once ? "claim_beside_once" : "claim_beside", params(false));
}

PostgresSession::Found PostgresSession::claim_from(Connection& c, Instant now, const ClaimRequest& request) {
  const auto begun = std::chrono::steady_clock::now();
  const Rows rows = claim_rows(c, now, request);
  const auto time = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun);
  for (const TenantShare& share : request.shares)
    floors_.took({request.lane, request.channel, share.tenant}, request.what, time);
  Found found;
  found.claims.reserve(static_cast<std::size_t>(rows.count()));
  for (int i = 0; i < rows.count(); ++i) {
    Claim& claim = found.claims.emplace_back(read_held(rows, i, 1));
    claim.lease.claimed_at = now;
    claim.lease.where = rows.tid(i, 1 + kHeldColumns);
  }
  found.raced = !rows.empty() && rows.number(0, 0) > static_cast<std::int64_t>(found.claims.size());
  try {
    add_deliveries(c, found.claims);
  } catch (const Failure&) {
    give_back_unread(now, found.claims);
    throw;
  }
  return found;
}

// They are held in our name already. Whoever can neither read them nor give them back has lost track of them.
void PostgresSession::give_back_unread(Instant now, const std::vector<Claim>& claims) {
  std::vector<Lease> leases;
  for (const Claim& claim : claims) leases.push_back(claim.lease);
  if (auto given = give_back(now, leases); !given) throw Failure{ErrorCode::Ambiguous, given.error().text};
}

void PostgresSession::add_deliveries(Connection& c, std::vector<Claim>& claims) {
  Bare bare{claims};
  const auto now = std::chrono::steady_clock::now();
  if (claims.size() >= kInARowFrom && now >= apart_until_) {
    bare.ask(c, "deliveries_in_a_row");
    if (!bare.empty()) apart_until_ = now + kApartFor;
  }
  if (!bare.empty()) bare.ask(c, "deliveries_by_id");
  std::erase_if(claims, [](const Claim& claim) { return claim.delivery.id == 0; });
}

Result<std::vector<Claim>> PostgresSession::claim(Instant now, const ClaimRequest& request) {
  if (request.channel == Channel::Expand) return Error{ErrorCode::Invalid, "expand work is claimed by claim_expand()"};
  return run([&](Connection& c) {
    auto [claims, raced] = claim_from(c, now, request);
    std::map<TenantId, int> got;
    for (const Claim& claim : claims) ++got[claim.lease.tenant];
    ClaimRequest rest = request;
    rest.shares.clear();
    for (const TenantShare& share : request.shares) {
      const int found = got[share.tenant];
      POSTRIDER_CHECK(found <= share.quota);
      const QueueGroup group{request.lane, request.channel, share.tenant};
      if (found == share.quota || !raced) continue;
      floors_.forget(group);
      rest.shares.push_back({share.tenant, share.quota - found, share.provider});
    }
    if (!rest.shares.empty()) add_from_the_front(c, now, rest, claims);
    for (const Claim& claim : claims)
      floors_.claimed({request.lane, request.channel, claim.lease.tenant}, request.what, claim.lease.position);
    return std::move(claims);
  });
}

// What was claimed before is held in our name, so it is given back whatever happens here.
void PostgresSession::add_from_the_front(Connection& c, Instant now, const ClaimRequest& rest,
                                         std::vector<Claim>& claims) {
  try {
    for (Claim& claim : claim_from(c, now, rest).claims) claims.push_back(std::move(claim));
  } catch (const Failure& failure) {
    if (failure.error().code == ErrorCode::Ambiguous || claims.empty()) throw;
  }
}

// What was called off while it was held ends; the rest waits for anybody.
Result<Done> PostgresSession::give_back(Instant now, std::span<const Lease> leases) {
  if (leases.empty()) return Done{};
  return transact([&](Connection& c) {
    LeaseColumns columns;
    for (const Lease& lease : leases) {
      columns.add(lease);
      floors_.forget({lease.lane, lease.channel, lease.tenant});
    }
    const Params held = columns.params();
    // The first look locks them all; a mark that was being set meanwhile is seen by the second.
    for (int look = 0; look < 2; ++look) settle_called_off(c, now, c.query("give_back_cancelled", held));
    c.query("release", held);
    return Done{};
  });
}

}  // namespace postrider::postgres
