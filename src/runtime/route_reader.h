// The parts of the configuration that say who gets what, and when: tenants' settings, routes, databases,
// limits.
#pragma once
#include "runtime/config.h"
#include "runtime/toml_reader.h"

namespace postrider {

inline constexpr std::string_view kChannelNames = "email, sms, whatsapp, push, webhook, teams, slack, inapp";
inline constexpr std::string_view kLaneNames = "priority, standard, bulk";

/// "50/s", "3000/m", "100000/h". Empty when it is none.
std::optional<double> parse_rate(std::string_view text);

/// rate, burst and concurrency.
Limit read_limit(TomlTable& table);
/// Language, clock and quiet hours of a tenant.
void read_tenant_settings(TomlTable& table, TenantConfig& tenant);
/// Everything of [[routes]] but the check that its tenant and its database exist. `finish` is the caller's.
Route read_route_table(TomlTable& table, const std::vector<DatabaseConfig>& databases);
DatabaseConfig read_database(const std::string& name, TomlTable& table, const ConfigSources& sources);

}  // namespace postrider
