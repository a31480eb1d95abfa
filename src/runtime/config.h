// The configuration: one TOML file. A wrong key stops the start and says file, line, key and reason. Secrets come from
// the environment or from files, never from the file itself.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/rules.h"
#include "ports/adapter.h"

namespace postrider {

struct StoreConfig {
  std::string url = "sqlite:postrider.db";  // sqlite:PATH or postgresql://…
  bool shared_with_application = false;
};
struct HttpConfig {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string tls_certificate = {};
  std::string tls_key = {};
};
struct ChainConfig {
  Channel channel = Channel::Email;
  std::vector<std::string> providers = {};
};
struct TenantConfig {
  std::string name = {};
  std::vector<ChainConfig> chains = {};
  Writing writing = {};
  std::optional<QuietHours> quiet_hours = {};
  std::vector<std::string> exempt_categories = {};
  Limit limit = {};
};
/// The application's own database, for routes that ask it for the record of an event.
struct DatabaseConfig {
  std::string name = {};
  std::string url = {};  // sqlite:PATH or postgresql://…
  int connections = 2;
  Duration timeout = std::chrono::seconds{2};
  [[nodiscard]] SqlDialect dialect() const {
    return url.starts_with("sqlite:") ? SqlDialect::Sqlite : SqlDialect::Postgres;
  }
};
struct ProviderConfig {
  ProviderSettings settings = {};
  std::optional<Acceptance> acceptance = {};
  int window = 1024;
  Limit limit = {};
};

struct Config {
  std::string file = {};
  std::string node_name = {};
  std::string metrics_prefix = "postrider";
  StoreConfig store = {};
  HttpConfig http = {};
  std::vector<TenantConfig> tenants = {};
  std::vector<ChainConfig> chains = {};
  std::vector<ProviderConfig> providers = {};
  std::vector<DatabaseConfig> databases = {};
  std::vector<Route> routes = {};
  std::vector<Template> templates = {};
  std::vector<PolicyRule> policies = {};
};

/// Reads and checks everything that can be checked without a store. `read_env` and `read_file` give secrets; empty when
/// there is none.
struct ConfigSources {
  std::string (*read_env)(const std::string& name) = nullptr;
  Result<std::string> (*read_file)(const std::string& path) = nullptr;
};
Result<Config> parse_config(std::string_view text, const std::string& file, const std::vector<Adapter>& adapters,
                            const ConfigSources& sources);
/// From a file, with the process's environment.
Result<Config> load_config(const std::string& file, const std::vector<Adapter>& adapters);

/// "host:port" with a port from 1 (0: any) to 65535; IPv6 hosts in brackets.
Result<HttpConfig> parse_listen(std::string_view text);

/// The core's rules from the configuration and the numbers that the store gave to the names (in the same order).
Result<Rules> make_rules(const Config& config, const std::vector<Adapter>& adapters,
                         const std::vector<TenantId>& tenants, const std::vector<ProviderId>& providers);

}  // namespace postrider
