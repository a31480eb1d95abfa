#include <chrono>
#include <limits>
#include <set>

#include "store/sqlite/session.h"

namespace postrider::sqlite {
namespace {

// Slots go round: a node that was taken for dead and wakes up makes ids for a while, so its slot must not be another's
// already.
int free_slot(Connection& c) {
  std::set<int> taken;
  Rows rows = c.use("node_slots").query();
  while (rows.next()) taken.insert(rows.number<int>(0));
  const std::int64_t last = c.use("node_last").integer().value_or(0);
  for (int step = 1; step <= kNodeSlots; ++step) {
    const int slot = static_cast<int>((last + step) % kNodeSlots);
    if (!taken.contains(slot)) return slot;
  }
  throw Failure{{ErrorCode::Exhausted, "there are as many nodes as there can be"}};
}

struct NameTable {
  std::string_view find;
  std::string_view add;
};

template <class Id>
std::vector<Id> number_names(Connection& c, const NameTable& table, std::span<const std::string> names) {
  std::vector<Id> ids;
  ids.reserve(names.size());
  for (const std::string& name : names) {
    auto id = c.use(table.find).integer(name);
    if (!id) {
      c.use(table.add).run(name);
      id = c.last_id();
    }
    if (*id > std::numeric_limits<Id>::max()) {
      throw Failure{{ErrorCode::Exhausted, "there are more names than can be numbered"}};
    }
    ids.push_back(static_cast<Id>(*id));
  }
  return ids;
}

}  // namespace

// The file has no clock of its own: its machine's is that of everybody who can open it.
Result<Instant> SqliteSession::database_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

Result<NodeLease> SqliteSession::join(Instant now, std::string_view name) {
  return writer_.transact([&](Connection& c) {
    const int slot = free_slot(c);
    c.use("node_add").run(slot, name, now);
    return NodeLease{static_cast<NodeId>(c.last_id()), slot};
  });
}

Result<std::vector<Peer>> SqliteSession::beat(Instant now, NodeId node) {
  return writer_.transact([&](Connection& c) {
    if (c.use("node_beat").run(node, now) != 1) {
      throw Failure{{ErrorCode::Conflict, "this node was declared dead"}};
    }
    std::vector<Peer> peers;
    Rows rows = c.use("nodes").query();
    while (rows.next()) peers.push_back({rows.number<NodeId>(0), rows.integer(1)});
    return peers;
  });
}

Result<Done> SqliteSession::remove(NodeId node) {
  return writer_.transact([&](Connection& c) {
    c.use("node_drop").run(node);
    return Done{};
  });
}

Result<std::optional<std::int64_t>> SqliteSession::lead(Instant now, NodeId node, std::string_view duty, Duration ttl) {
  return writer_.transact([&](Connection& c) { return c.use("lead").integer(duty, node, now, now + ttl); });
}

Result<std::vector<TenantId>> SqliteSession::tenants(std::span<const std::string> names) {
  return writer_.transact([&](Connection& c) {
    return number_names<TenantId>(c, {"tenant_find", "tenant_add"}, names);
  });
}

Result<std::vector<ProviderId>> SqliteSession::providers(std::span<const std::string> names) {
  return writer_.transact([&](Connection& c) {
    return number_names<ProviderId>(c, {"provider_find", "provider_add"}, names);
  });
}

}  // namespace postrider::sqlite
