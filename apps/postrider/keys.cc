#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/crypto.h"
#include "base/json.h"
#include "base/text.h"
#include "commands.h"

namespace postrider::app {
namespace {

constexpr std::array<std::pair<std::string_view, Role>, 6> kRoles{{{"producer", Role::Producer},
                                                                   {"viewer", Role::Viewer},
                                                                   {"operator", Role::Operator},
                                                                   {"admin", Role::Admin},
                                                                   {"ops", Role::Ops},
                                                                   {"site", Role::Site}}};

std::string_view role_name(Role role) {
  for (const auto& [name, each] : kRoles) {
    if (each == role) return name;
  }
  POSTRIDER_DIE("a Role outside its enum");
}

std::string tenant_name(const Rules& rules, const std::optional<TenantId>& id) {
  if (!id) return "*";
  const Tenant* tenant = rules.tenant(*id);
  return tenant != nullptr ? tenant->name : fmt::format("#{}", *id);
}

int create(const Common& common, const KeysOptions& options, Visit& v) {
  const Role* role = nullptr;
  for (const auto& [name, each] : kRoles) {
    if (name == options.role) role = &each;
  }
  if (role == nullptr)
    return fail(fmt::format("\"{}\" is not one of producer, viewer, operator, admin, ops, site", options.role));
  ApiKey key{.name = options.name, .role = *role};
  if (*role != Role::Ops) {
    const Tenant* tenant = v.rules.tenant(options.tenant);
    if (tenant == nullptr) return fail(fmt::format("there is no tenant \"{}\" in the configuration", options.tenant));
    key.tenant = tenant->id;
  }
  const std::string text = "pr_" + to_hex(random_bytes(24));
  key.hash = to_hex(sha256(text));
  auto now = v.session->database_now();
  if (!now) return fail(now.error());
  auto added = v.session->add_key(*now, std::move(key));
  if (!added) return fail(added.error());
  if (common.json) {
    fmt::print("{}\n", JsonWriter{}.begin_object().member("id", added->id).member("key", text).end_object().take());
  } else {
    fmt::print("{}\n", text);
    fmt::print(stderr, "key {} for {} made; it is shown only now\n", added->id, options.name);
  }
  return 0;
}

int list(const Common& common, Visit& v) {
  auto keys = v.session->keys();
  if (!keys) return fail(keys.error());
  JsonWriter json;
  json.begin_array();
  for (const ApiKey& key : *keys) {
    const std::string tenant = tenant_name(v.rules, key.tenant);
    json.begin_object()
        .member("id", key.id)
        .member("name", key.name)
        .member("role", role_name(key.role))
        .member("tenant", tenant);
    json.member("created_at", format_instant(key.created_at));
    if (key.revoked_at) json.member("revoked_at", format_instant(*key.revoked_at));
    json.end_object();
    if (!common.json) {
      fmt::print("{:>4}  {:<20} {:<9} {:<16} {}{}\n", key.id, key.name, role_name(key.role), tenant,
                 format_instant(key.created_at), key.revoked_at ? "  revoked " + format_instant(*key.revoked_at) : "");
    }
  }
  if (common.json) fmt::print("{}\n", json.end_array().take());
  return 0;
}

}  // namespace

int run_keys(const Common& common, const KeysOptions& options) {
  auto v = visit(common, Ids::NotNeeded);
  if (!v) return fail(v.error());
  if (options.action == "create") return create(common, options, **v);
  if (options.action == "list") return list(common, **v);
  auto now = (*v)->session->database_now();
  if (!now) return fail(now.error());
  if (auto revoked = (*v)->session->revoke_key(*now, options.id); !revoked) return fail(revoked.error());
  fmt::print("key {} is revoked; running engines refuse it within 5 s\n", options.id);
  return 0;
}

}  // namespace postrider::app
