#include <limits>

#include "store/postgres/session.h"

namespace postrider::postgres {
namespace {

template <class Id>
std::vector<Id> number_names(Connection& c, std::string_view find, std::string_view add,
                             std::span<const std::string> names) {
  std::vector<Id> ids;
  ids.reserve(names.size());
  for (const std::string& name : names) {
    auto id = c.use(find).integer(name);
    if (!id) {
      c.use(add).run(name);
      id = c.use(find).integer(name);
    }
    if (!id || *id > std::numeric_limits<Id>::max())
      throw Failure{ErrorCode::Exhausted, "there are more names than can be numbered"};
    ids.push_back(static_cast<Id>(*id));
  }
  return ids;
}

}  // namespace

Result<Instant> PostgresSession::database_now() {
  return run([](Connection& c) { return c.query("database_now").time(0, 0); });
}

Result<NodeLease> PostgresSession::join(Instant now, std::string_view name) {
  return transact([&](Connection& c) {
    c.query("ensure_partitions", Params{}.time(now));
    c.query("node_lock");
    c.query("nodes_forget", Params{}.time(now - std::chrono::minutes{10}));
    const Rows rows = c.query("node_add", Params{}.text(name).time(now).int4(kNodeSlots));
    if (rows.empty()) throw Failure{ErrorCode::Exhausted, "there are as many nodes as there can be"};
    return NodeLease{static_cast<NodeId>(rows.number(0, 0)), rows.small(0, 1)};
  });
}

Result<std::vector<Peer>> PostgresSession::beat(Instant now, NodeId node) {
  return run([&](Connection& c) {
    if (c.query("node_beat", Params{}.int4(node).time(now)).affected() != 1) {
      throw Failure{ErrorCode::Conflict, "this node was declared dead"};
    }
    std::vector<Peer> peers;
    const Rows rows = c.query("nodes");
    for (int i = 0; i < rows.count(); ++i) peers.push_back({static_cast<NodeId>(rows.number(i, 0)), rows.number(i, 1)});
    return peers;
  });
}

Result<Done> PostgresSession::remove(NodeId node) {
  return run([&](Connection& c) {
    c.query("node_drop", Params{}.int4(node));
    return Done{};
  });
}

Result<std::optional<std::int64_t>> PostgresSession::lead(Instant now, NodeId node, std::string_view duty,
                                                          Duration ttl) {
  return run([&](Connection& c) { return c.use("lead").integer(duty, node, now, now + ttl); });
}

Result<std::vector<TenantId>> PostgresSession::tenants(std::span<const std::string> names) {
  return transact([&](Connection& c) { return number_names<TenantId>(c, "tenant_find", "tenant_add", names); });
}

Result<std::vector<ProviderId>> PostgresSession::providers(std::span<const std::string> names) {
  return transact([&](Connection& c) { return number_names<ProviderId>(c, "provider_find", "provider_add", names); });
}

}  // namespace postrider::postgres
