#include "context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "locale/icu_formatter.h"
#include "locale/icu_zones.h"
#include "providers/registry.h"
#include "runtime/clock.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace postrider::app {

namespace fs = std::filesystem;

std::string home_of(const Common& common) {
  if (!common.home.empty()) return common.home;
  const char* from_environment = std::getenv("POSTRIDER_HOME");
  return from_environment != nullptr && *from_environment != '\0' ? from_environment : "./var";
}

std::string config_file_of(const Common& common) {
  return common.config.empty() ? (fs::path{home_of(common)} / "postrider.toml").string() : common.config;
}

std::string seal_folder_of(const Common& common) { return (fs::path{home_of(common)} / "seal").string(); }

Result<Config> read_config(const Common& common) {
  const std::string file = config_file_of(common);
  std::error_code ignored;
  if (common.config.empty() && !fs::exists(file, ignored)) {
    Config config;
    config.tenants.push_back({"default", {}});
    return config;
  }
  POSTRIDER_TRY(config, load_config(file, adapters()));
  for (const TenantConfig& tenant : config.tenants) {
    const auto wrong = [&](std::string_view key, std::string_view value, std::string_view what) {
      return Error{ErrorCode::Invalid,
                   fmt::format("{}: {} of tenant \"{}\": \"{}\" {}", file, key, tenant.name, value, what)};
    };
    const Writing& writing = tenant.writing;
    if (!is_known_locale(writing.locale)) return wrong("locale", writing.locale, "is not a language tag");
    if (!is_known_zone(writing.timezone)) return wrong("timezone", writing.timezone, "is no time zone");
  }
  return config;
}

namespace {
fs::path sqlite_path(const Common& common, const std::string& url) {
  const fs::path path = url.substr(std::string_view{"sqlite:"}.size());
  return path.is_relative() ? fs::path{home_of(common)} / path : path;
}
}  // namespace

Result<std::unique_ptr<Store>> open_store(const Common& common, const Config& config, WhereNone where_none) {
  const std::string& url = config.store.url;
  if (!url.starts_with("sqlite:")) {
    auto opened = postgres::PostgresStore::open(url);
    if (!opened) return opened.error();
    return std::unique_ptr<Store>(std::move(*opened));
  }
  const fs::path path = sqlite_path(common, url);
  std::error_code error;
  if (where_none == WhereNone::SaySo && !fs::exists(path, error))
    return Error{
        ErrorCode::NotFound,
        fmt::format("there is no database {}; `postrider serve` or `postrider migrate` makes it", path.string())};
  fs::create_directories(path.parent_path(), error);
  if (error)
    return Error{ErrorCode::Unavailable,
                 fmt::format("cannot make the folder {}: {}", path.parent_path().string(), error.message())};
  auto opened = sqlite::SqliteStore::open(
      {.path = path.string(), .shared_with_application = config.store.shared_with_application});
  if (!opened) return opened.error();
  return std::unique_ptr<Store>(std::move(*opened));
}

std::vector<ContextDatabase> context_databases(const Common& common, const Config& config) {
  std::vector<ContextDatabase> out;
  for (const DatabaseConfig& each : config.databases) {
    const bool is_file = each.dialect() == SqlDialect::Sqlite;
    out.push_back({.name = each.name,
                   .url = is_file ? "sqlite:" + sqlite_path(common, each.url).string() : each.url,
                   .connections = each.connections,
                   .timeout = each.timeout,
                   .dialect = each.dialect()});
  }
  return out;
}

Result<Rules> rules_of(const Config& config, StoreSession& session) {
  std::vector<std::string> tenant_names;
  for (const TenantConfig& tenant : config.tenants) tenant_names.push_back(tenant.name);
  std::vector<std::string> provider_names;
  for (const ProviderConfig& provider : config.providers) provider_names.push_back(provider.settings.name);
  POSTRIDER_TRY(tenants, session.tenants(tenant_names));
  POSTRIDER_TRY(providers, session.providers(provider_names));
  POSTRIDER_TRY(rules, make_rules(config, adapters(), tenants, providers));
  rules.formatter = &icu_formatter();
  rules.zones = &icu_zones();
  return rules;
}

Result<std::optional<TenantId>> tenant_named(const Rules& rules, const std::string& name) {
  if (name.empty()) return std::optional<TenantId>{};
  const Tenant* tenant = rules.tenant(name);
  if (tenant == nullptr)
    return Error{ErrorCode::NotFound, fmt::format("there is no tenant \"{}\" in the configuration", name)};
  return std::optional{tenant->id};
}

OperatorAction operator_of(const std::string& why, std::optional<TenantId> tenant) {
  const char* user = std::getenv("USER");
  return {.actor = fmt::format("cli:{}", user != nullptr ? user : "?"), .why = why, .tenant = tenant};
}

Visit::~Visit() {
  if (lease && session) {
    if (auto left = session->remove(lease->node); !left) fmt::print(stderr, "postrider: {}\n", left.error().text);
  }
}

Result<std::unique_ptr<Visit>> visit(const Common& common, Ids ids) {
  auto v = std::make_unique<Visit>();
  POSTRIDER_TRY(config, read_config(common));
  v->config = std::move(config);
  POSTRIDER_TRY(store, open_store(common, v->config, WhereNone::SaySo));
  v->store = std::move(store);
  POSTRIDER_TRY(version, v->store->schema_version());
  if (version.found != version.wanted) {
    return Error{ErrorCode::Unsupported,
                 fmt::format("the tables are of version {}, this program needs {}; run `postrider migrate`",
                             version.found, version.wanted)};
  }
  POSTRIDER_TRY(session, v->store->open_session());
  v->session = std::move(session);
  POSTRIDER_TRY(rules, rules_of(v->config, *v->session));
  v->rules = std::move(rules);
  if (ids == Ids::Needed) {
    POSTRIDER_TRY(now, v->session->database_now());
    POSTRIDER_TRY(lease, v->session->join(now, "command"));
    v->lease = lease;
    v->ids.emplace(lease.slot);
    v->session->use_ids(*v->ids);
  }
  return v;
}

int fail(std::string_view text) {
  fmt::print(stderr, "postrider: {}\n", text);
  return 1;
}
int fail(const Error& error) { return fail(error.text); }

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorCode::NotFound, fmt::format("cannot read {}", path)};
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

Result<Done> write_private_file(const std::string& path, std::string_view text) {
  const std::string draft = path + ".new";
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return Error{ErrorCode::Unavailable, fmt::format("cannot write {}", path)};
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  ::close(file);
  if (!written || std::rename(draft.c_str(), path.c_str()) != 0)
    return Error{ErrorCode::Unavailable, fmt::format("cannot write {}", path)};
  return Done{};
}

}  // namespace postrider::app
