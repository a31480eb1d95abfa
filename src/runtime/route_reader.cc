#include "runtime/route_reader.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace postrider {
namespace {

std::optional<MissingKey> parse_missing_key(std::string_view text) {
  if (text == "empty") return MissingKey::Empty;
  if (text == "keep") return MissingKey::Kept;
  return std::nullopt;
}
std::optional<LocaleMatching> parse_matching(std::string_view text) {
  if (text == "lookup") return LocaleMatching::LookUp;
  if (text == "exact") return LocaleMatching::Exact;
  return std::nullopt;
}

std::optional<Rendering> parse_rendering(std::string_view text) {
  if (text == "early") return Rendering::Early;
  if (text == "late") return Rendering::Late;
  return std::nullopt;
}

// A duration with a sign: "-24h" is a day before.
std::optional<Duration> parse_offset(std::string_view text) {
  const bool before = text.starts_with('-');
  const auto length = parse_duration(before || text.starts_with('+') ? text.substr(1) : text);
  if (!length) return std::nullopt;
  return before ? -*length : *length;
}

void read_recipients(TomlTable table, Route& route) {
  for (const std::string& key : table.keys()) {
    const auto channel = parse_channel(key);
    std::string field = table.text_or(key, "");
    if (!channel) table.problem(key, fmt::format("is not a channel (one of {})", kChannelNames));
    const bool array = field.ends_with("[]");
    if (array) field.resize(field.size() - 2);
    if (channel)
      route.recipients.push_back({*channel, std::move(field), array ? RecipientShape::Array : RecipientShape::Single});
  }
}

void read_context(TomlTable table, const std::vector<DatabaseConfig>& databases, Route& route) {
  if (!table.present()) return;
  ContextRule rule;
  rule.database = table.text_or("database", databases.size() == 1 ? databases.front().name : "");
  const auto database = std::find_if(databases.begin(), databases.end(),
                                     [&](const DatabaseConfig& d) { return d.name == rule.database; });
  if (database == databases.end()) {
    table.problem("database", rule.database.empty() ? std::string{"is required"}
                                                    : fmt::format("there is no [databases.{}]", rule.database));
  }
  const auto query = table.text("query");
  if (!query) table.problem("query", "is required");
  if (query && database != databases.end()) {
    auto compiled = compile_context_sql(*query, database->dialect());
    if (!compiled) table.problem("query", compiled.error().text);
    if (compiled) rule.sql = std::move(*compiled);
  }
  table.finish();
  route.context = std::move(rule);
}

void read_cancel_when(TomlTable table, Route& route) {
  if (!table.present()) return;
  route.cancel_when.field = table.text_or("field", "");
  route.cancel_when.values = table.texts("in");
  if (route.cancel_when.field.empty()) table.problem("field", "is required");
  if (route.cancel_when.values.empty())
    table.problem("in", "is required: the values at which nothing is sent any more");
  table.finish();
}

void read_schedule(TomlTable table, Route& route) {
  if (!table.present()) return;
  route.schedule.field = table.text_or("field", "");
  if (route.schedule.field.empty()) table.problem("field", "is required");
  if (const auto text = table.text("offset")) {
    const auto offset = parse_offset(*text);
    if (!offset) table.problem("offset", fmt::format("\"{}\" is not a duration such as -24h, 2h, 7d", *text));
    route.schedule.offset = offset.value_or(Duration{});
  }
  table.finish();
}

void read_scopes(std::vector<TomlTable> tables, Route& route) {
  for (TomlTable& table : tables) {
    ScopeSource scope{table.text_or("type", ""), table.text_or("field", "")};
    if (scope.type.empty()) table.problem("type", "is required");
    if (scope.field.empty()) table.problem("field", "is required");
    table.finish();
    route.scopes.push_back(std::move(scope));
  }
}

}  // namespace

std::optional<double> parse_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = trim(text.substr(0, slash));
  const std::string_view unit = trim(text.substr(slash + 1));
  double amount = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), amount);
  const bool sensible = amount > 0 && amount <= 1e9;
  if (error != std::errc{} || end != digits.data() + digits.size() || !sensible) return std::nullopt;
  if (unit == "s") return amount;
  if (unit == "m") return amount / 60;
  if (unit == "h") return amount / 3600;
  return std::nullopt;
}

Limit read_limit(TomlTable& table) {
  Limit limit;
  if (const auto text = table.text("rate")) {
    const auto rate = parse_rate(*text);
    if (!rate) table.problem("rate", fmt::format("\"{}\" is not a rate such as 50/s, 3000/m, 100000/h", *text));
    limit.per_second = rate.value_or(0);
  }
  if (const auto burst = table.number("burst", 1, 1'000'000)) {
    limit.burst = static_cast<double>(*burst);
    if (limit.per_second <= 0) table.problem("burst", "goes with a rate");
  }
  limit.concurrency = static_cast<int>(table.number("concurrency", 1, 65'536).value_or(0));
  return limit;
}

void read_tenant_settings(TomlTable& table, TenantConfig& tenant) {
  Writing& writing = tenant.writing;
  writing.locale = table.text_or("locale", writing.locale);
  writing.timezone = table.text_or("timezone", writing.timezone);
  writing.date_format = table.text_or("date_format", "");
  writing.missing_keys =
      table.word<MissingKey>("missing_keys", parse_missing_key, "empty, keep").value_or(MissingKey::Empty);
  writing.locales = table.texts("locales");
  writing.fallbacks = table.texts("locale_fallbacks");
  writing.matching =
      table.word<LocaleMatching>("locale_match", parse_matching, "lookup, exact").value_or(LocaleMatching::LookUp);
  const auto& locales = writing.locales;
  if (!locales.empty() && std::find(locales.begin(), locales.end(), writing.locale) == locales.end()) {
    table.problem("locales", fmt::format("must contain the tenant's own locale ({})", writing.locale));
  }
  if (const auto text = table.text("quiet_hours")) {
    tenant.quiet_hours = parse_quiet_hours(*text);
    if (!tenant.quiet_hours)
      table.problem("quiet_hours", fmt::format("\"{}\" is not a time of the day such as 22:00-08:00", *text));
  }
  tenant.exempt_categories = table.texts("exempt_categories");
  tenant.limit = read_limit(table);
}

Route read_route_table(TomlTable& table, const std::vector<DatabaseConfig>& databases) {
  Route route;
  route.type = table.text_or("type", "");
  if (route.type.empty()) table.problem("type", "is required");
  route.tenant = table.text_or("tenant", "");
  route.lane = table.word<Lane>("lane", parse_lane, kLaneNames);
  route.guarantee = table.word<Guarantee>("guarantee", parse_guarantee, "at_least_once, at_most_once, reconcile")
                        .value_or(Guarantee::AtLeastOnce);
  route.category = table.text_or("category", "");
  route.date_format = table.text_or("date_format", "");
  route.contact_field = table.text_or("contact", "");
  route.list = table.text_or("list", "");
  route.rendering = table.word<Rendering>("render", parse_rendering, "early, late").value_or(Rendering::Early);
  route.keys = table.texts("keys");
  read_recipients(table.table("recipients"), route);
  read_scopes(table.tables("scopes"), route);
  read_context(table.table("context"), databases, route);
  read_cancel_when(table.table("cancel_when"), route);
  read_schedule(table.table("schedule"), route);
  return route;
}

DatabaseConfig read_database(const std::string& name, TomlTable& table, const ConfigSources& sources) {
  DatabaseConfig database;
  database.name = name;
  database.url = table.text_or("url", "");
  if (const auto env = table.text("url_env")) {
    database.url = sources.read_env(*env);
    if (database.url.empty()) table.problem("url_env", fmt::format("the environment has no {}", *env));
  }
  const std::string& url = database.url;
  if (!url.starts_with("sqlite:") && !url.starts_with("postgresql://") && !url.starts_with("postgres://")) {
    table.problem("url", "must begin with sqlite: or postgresql://");
  }
  database.connections = static_cast<int>(table.number("connections", 1, 64).value_or(2));
  if (const auto timeout = table.duration("timeout")) database.timeout = *timeout;
  if (database.timeout < std::chrono::milliseconds{10} || database.timeout > std::chrono::seconds{10})
    table.problem("timeout", "must be from 10ms to 10s");
  table.finish();
  return database;
}

}  // namespace postrider
