#include "api/auth.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kKeyPrefix = "pr_";
constexpr std::size_t kKeyBytesMax = 200;
constexpr std::size_t kHashPrefix = 8;
constexpr std::array kRoles{Role::Producer, Role::Viewer, Role::Operator, Role::Admin, Role::Ops, Role::Site};

}  // namespace

std::string new_api_key() { return std::string{kKeyPrefix} + to_hex(random_bytes(32)); }

std::string api_key_hash(std::string_view key) { return to_hex(sha256(key)); }

std::string_view to_text(Role role) {
  switch (role) {
    case Role::Producer: return "producer";
    case Role::Viewer: return "viewer";
    case Role::Operator: return "operator";
    case Role::Admin: return "admin";
    case Role::Ops: return "ops";
    case Role::Site: return "site";
  }
  POSTRIDER_DIE("a Role outside its enum");
}

std::optional<Role> parse_role(std::string_view text) {
  const auto found = std::find_if(kRoles.begin(), kRoles.end(), [&](Role role) { return to_text(role) == text; });
  return found == kRoles.end() ? std::nullopt : std::optional{*found};
}

bool may(Role role, Role least, Does does) {
  switch (role) {
    case Role::Site: return false;  // a site's own routes do not exist yet
    case Role::Viewer: return does == Does::Reads && role >= least;
    case Role::Producer:
    case Role::Operator:
    case Role::Admin:
    case Role::Ops: return role >= least;
  }
  POSTRIDER_DIE("a Role outside its enum");
}

std::string_view bearer_key(const HttpIn& in) {
  const auto is_authorization = [](const Header& h) { return h.first == "authorization"; };
  if (std::count_if(in.headers.begin(), in.headers.end(), is_authorization) != 1) return {};
  const std::string_view value = trim(*in.header("authorization"));
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos || !equal_ignoring_case(value.substr(0, space), "bearer")) return {};
  const std::string_view key = trim(value.substr(space));
  const bool usable = key.starts_with(kKeyPrefix) && key.size() > kKeyPrefix.size() && key.size() <= kKeyBytesMax;
  return usable ? key : std::string_view{};
}

std::shared_ptr<const KeyCache::Snapshot> KeyCache::snapshot() {
  const std::lock_guard lock{mutex_};
  return snapshot_;
}

KeyCache::Found KeyCache::look_up(std::string_view key, Instant now) {
  const auto keys = snapshot();
  // A clock that went back would keep old keys alive: what was read "in the future" counts as old.
  if (!keys || now < keys->read_at || now - keys->read_at > kKeysFreshFor) return {};
  const Duration age = now - keys->read_at;
  if (const auto caller = find(*keys, api_key_hash(key))) return {Answer::Known, *caller, age > kKeysRefreshedAhead};
  return {age > kKeysRefreshedOnMiss ? Answer::AskStore : Answer::Unknown};
}

std::optional<Caller> KeyCache::find(const Snapshot& snapshot, std::string_view hash) {
  const auto [from, to] = snapshot.by_prefix.equal_range(hash.substr(0, kHashPrefix));
  for (auto at = from; at != to; ++at) {
    const ApiKey& key = at->second;
    if (!equal_in_constant_time(key.hash, hash)) continue;
    if (key.role != Role::Ops && !key.tenant) return std::nullopt;  // only ops may be bound to no tenant
    return Caller{key.role, key.name, key.role == Role::Ops ? std::nullopt : key.tenant};
  }
  return std::nullopt;
}

Result<Done> KeyCache::refresh(StoreSession& session, Instant now) {
  const std::lock_guard only_one{refreshing_};
  if (const auto keys = snapshot(); keys && now >= keys->read_at && now - keys->read_at <= kKeysRefreshedOnMiss) {
    return Done{};
  }
  POSTRIDER_TRY(keys, session.keys());
  auto fresh = std::make_shared<Snapshot>();
  fresh->read_at = now;
  for (ApiKey& key : keys) {
    if (key.revoked_at) continue;
    std::string prefix = key.hash.substr(0, kHashPrefix);
    fresh->by_prefix.emplace(std::move(prefix), std::move(key));
  }
  const std::lock_guard lock{mutex_};
  snapshot_ = std::move(fresh);
  return Done{};
}

}  // namespace postrider
