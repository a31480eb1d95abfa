#include "base/limits.h"
#include "store/postgres/rows.h"

namespace postrider::postgres {

Result<std::vector<QueueHead>> PostgresSession::heads() {
  return run([](Connection& c) {
    std::vector<QueueHead> heads;
    const Rows rows = c.query("heads");
    for (int i = 0; i < rows.count(); ++i) {
      heads.push_back({{static_cast<Lane>(rows.number(i, 0)), static_cast<Channel>(rows.number(i, 1)),
                        static_cast<TenantId>(rows.number(i, 2))},
                       id_time(rows.number(i, 3))});
    }
    return heads;
  });
}

Result<std::vector<Claim>> PostgresSession::claim(Instant now, const ClaimRequest& request) {
  if (request.channel == Channel::Expand) return Error{ErrorCode::Invalid, "expand work is claimed by claim_expand()"};
  return run([&](Connection& c) {
    Array tenant{Type::Int4}, quota{Type::Int4}, provider{Type::Int2};
    std::int64_t most = 0;
    for (const TenantShare& share : request.shares) {
      tenant.add_int4(share.tenant);
      quota.add_int4(share.quota);
      provider.add_int2(share.provider);
      most += share.quota;
    }
    const Rows rows = c.write("claim", Params{}
                                           .int2(static_cast<int>(request.lane))
                                           .int2(static_cast<int>(request.channel))
                                           .array(tenant)
                                           .array(quota)
                                           .array(provider)
                                           .flag(request.what == ClaimWhat::AtMostOnceOnly)
                                           .int2(kCallsPerDeliveryMax)
                                           .int4(request.node)
                                           .time(now));
    POSTRIDER_CHECK(rows.count() <= most);
    std::vector<Claim> claims;
    claims.reserve(static_cast<std::size_t>(rows.count()));
    for (int i = 0; i < rows.count(); ++i) claims.push_back(read_claim(rows, i, now));
    return claims;
  });
}

Result<Done> PostgresSession::release(Instant, std::span<const Lease> leases) {
  if (leases.empty()) return Done{};
  return run([&](Connection& c) {
    Array lane{Type::Int2}, channel{Type::Int2}, tenant{Type::Int4}, position{Type::Int8}, id{Type::Int8},
        fence{Type::Int4};
    for (const Lease& lease : leases) {
      lane.add_int2(static_cast<int>(lease.lane));
      channel.add_int2(static_cast<int>(lease.channel));
      tenant.add_int4(lease.tenant);
      position.add_int8(lease.position);
      id.add_int8(lease.id);
      fence.add_int4(lease.fence);
    }
    c.query("release", Params{}.array(lane).array(channel).array(tenant).array(position).array(id).array(fence));
    return Done{};
  });
}

}  // namespace postrider::postgres
