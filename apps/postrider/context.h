// What every command needs: where home is, what the configuration says, and the store it names.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "context/context_source.h"
#include "core/rules.h"
#include "ports/store.h"
#include "runtime/config.h"

namespace postrider::app {

struct Common {
  std::string home = {};    // --home, else $POSTRIDER_HOME, else ./var
  std::string config = {};  // --config, else <home>/postrider.toml
  bool json = false;
};

std::string home_of(const Common& common);
std::string config_file_of(const Common& common);
std::string seal_folder_of(const Common& common);
/// The configuration file, or the built-in defaults where there is none and none was named.
Result<Config> read_config(const Common& common);
/// What to do where there is no SQLite file yet.
enum class WhereNone : std::uint8_t { MakeIt, SaySo };
/// sqlite: paths are relative to home.
Result<std::unique_ptr<Store>> open_store(const Common& common, const Config& config, WhereNone where_none);
/// The application's own; their sqlite: paths are relative to home too.
std::vector<ContextDatabase> context_databases(const Common& common, const Config& config);

/// A command's short stay at the store: config, store at the right version, a session, names as numbers.
struct Visit {
  Config config = {};
  std::unique_ptr<Store> store = {};
  std::unique_ptr<StoreSession> session = {};
  Rules rules = {};
  std::optional<NodeLease> lease = {};  // when ids are needed
  std::optional<IdSource> ids = {};

  Visit() = default;
  Visit(Visit&&) = delete;
  ~Visit();
};
enum class Ids : bool { NotNeeded, Needed };
Result<std::unique_ptr<Visit>> visit(const Common& common, Ids ids);
Result<Rules> rules_of(const Config& config, StoreSession& session);

/// The tenant of this name; none where no name was given: all of them.
Result<std::optional<TenantId>> tenant_named(const Rules& rules, const std::string& name);

/// Whoever is at the command line, for the audit trail.
OperatorAction operator_of(const std::string& why, std::optional<TenantId> tenant);

/// One line on stderr, and the exit code to give.
int fail(const Error& error);
int fail(std::string_view text);

Result<std::string> read_file(const std::string& path);
/// Written whole or not at all, readable by its owner only.
Result<Done> write_private_file(const std::string& path, std::string_view text);

}  // namespace postrider::app
