#include <algorithm>

#include "store/model/model_session.h"
#include "store/model/model_store.h"

namespace postrider::model {
namespace {

template <class Id>
std::vector<Id> number_names(std::vector<std::string>& known, std::span<const std::string> names) {
  std::vector<Id> ids;
  for (const std::string& name : names) {
    auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) found = known.insert(known.end(), name);
    ids.push_back(static_cast<Id>(found - known.begin() + 1));
  }
  return ids;
}

}  // namespace

Result<std::unique_ptr<StoreSession>> ModelStore::open_session() {
  return std::unique_ptr<StoreSession>{std::make_unique<ModelSession>(database_)};
}

Result<Instant> ModelSession::database_now() { return hold()->clock; }

Result<NodeLease> ModelSession::join(Instant, std::string_view name) {
  const Held db = hold();
  const auto taken = [&](int slot) {
    return std::any_of(db->nodes.begin(), db->nodes.end(), [&](const auto& n) { return n.second.slot == slot; });
  };
  // Slots go round: a node that was taken for dead and wakes up makes ids for a while, so its slot must not be
  // another's already.
  int step = 1;
  while (step <= kNodeSlots && taken((db->last_node + step) % kNodeSlots)) ++step;
  if (step > kNodeSlots) return Error{ErrorCode::Exhausted, "there are as many nodes as there can be"};
  const int slot = (db->last_node + step) % kNodeSlots;
  const NodeId node = ++db->last_node;
  db->nodes.emplace(node, NodeRow{slot, std::string{name}, 0});
  return NodeLease{node, slot};
}

Result<std::vector<Peer>> ModelSession::beat(Instant, NodeId node) {
  const Held db = hold();
  const auto self = db->nodes.find(node);
  if (self == db->nodes.end()) return Error{ErrorCode::Conflict, "this node was declared dead"};
  ++self->second.beats;
  std::vector<Peer> peers;
  for (const auto& [id, row] : db->nodes) peers.push_back({id, row.beats});
  return peers;
}

Result<Done> ModelSession::remove(NodeId node) {
  hold()->nodes.erase(node);
  return Done{};
}

Result<std::optional<std::int64_t>> ModelSession::lead(Instant now, NodeId node, std::string_view duty, Duration ttl) {
  const Held db = hold();
  DutyRow& row = db->duties[std::string{duty}];
  const bool running = row.expires_at > now;
  const bool mine = row.node == node;
  if (!mine && running && db->nodes.contains(row.node)) return std::optional<std::int64_t>{};
  if (!mine || !running) ++row.epoch;
  row.node = node;
  row.expires_at = now + ttl;
  return std::optional{row.epoch};
}

Result<std::vector<TenantId>> ModelSession::tenants(std::span<const std::string> names) {
  return number_names<TenantId>(hold()->tenants, names);
}

Result<std::vector<ProviderId>> ModelSession::providers(std::span<const std::string> names) {
  return number_names<ProviderId>(hold()->providers, names);
}

Result<ApiKey> ModelSession::add_key(Instant now, ApiKey key) {
  const Held db = hold();
  if (std::any_of(db->keys.begin(), db->keys.end(), [&](const ApiKey& k) { return k.hash == key.hash; })) {
    return Error{ErrorCode::Conflict, "this API key exists already"};
  }
  key.id = static_cast<std::int64_t>(db->keys.size()) + 1;
  key.created_at = now;
  key.revoked_at.reset();
  db->keys.push_back(key);
  return key;
}

Result<std::vector<ApiKey>> ModelSession::keys() { return hold()->keys; }

Result<Done> ModelSession::revoke_key(Instant now, std::int64_t id) {
  const Held db = hold();
  for (ApiKey& key : db->keys) {
    if (key.id != id) continue;
    if (!key.revoked_at) key.revoked_at = now;
    return Done{};
  }
  return Error{ErrorCode::NotFound, "there is no such API key"};
}

}  // namespace postrider::model
