#include "runtime/config.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/text.h"
#include "runtime/route_reader.h"

namespace postrider {
namespace {

class ConfigReader {
 public:
  ConfigReader(Config& config, Problems& problems, const std::vector<Adapter>& adapters, const ConfigSources& sources)
      : config_(config), problems_(problems), adapters_(adapters), sources_(sources) {}

  void read(TomlTable root) {
    read_engine(root.table("engine"));
    read_store(root.table("store"));
    read_http(root.table("http"));
    config_.chains = read_chains(root.table("channels"));
    TomlTable providers = root.table("providers");
    for (const std::string& name : providers.keys()) read_provider(name, providers.table(name));
    for (TomlTable& tenant : root.tables("tenants")) read_tenant(tenant);
    TomlTable databases = root.table("databases");
    for (const std::string& name : databases.keys()) {
      TomlTable table = databases.table(name);
      config_.databases.push_back(read_database(name, table, sources_));
    }
    for (TomlTable& route : root.tables("routes")) read_route(route);
    for (TomlTable& entry : root.tables("templates")) read_template(entry);
    for (TomlTable& policy : root.tables("policies")) read_policy(policy);
    root.finish();
    check_references();
  }

 private:
  void read_engine(TomlTable table) {
    config_.node_name = table.text_or("node_name", "");
    config_.metrics_prefix = table.text_or("metrics_prefix", "postrider");
    const std::string& prefix = config_.metrics_prefix;
    if (prefix.empty() || prefix.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
                              std::string::npos) {
      table.problem("metrics_prefix", "must be letters, digits and _");
    }
    table.finish();
  }

  void read_store(TomlTable table) {
    if (const auto url = table.text("url")) config_.store.url = *url;
    if (const auto env = table.text("url_env")) {
      const std::string url = sources_.read_env(*env);
      if (url.empty()) table.problem("url_env", fmt::format("the environment has no {}", *env));
      config_.store.url = url;
    }
    const std::string& url = config_.store.url;
    if (!url.starts_with("sqlite:") && !url.starts_with("postgresql://") && !url.starts_with("postgres://")) {
      table.problem("url", "must begin with sqlite: or postgresql://");
    }
    config_.store.shared_with_application = table.flag("shared_with_application").value_or(false);
    table.finish();
  }

  void read_http(TomlTable table) {
    if (const auto listen = table.text("listen")) {
      const auto parsed = parse_listen(*listen);
      if (parsed) {
        config_.http.host = parsed->host;
        config_.http.port = parsed->port;
      } else {
        table.problem("listen", parsed.error().text);
      }
    }
    config_.http.tls_certificate = table.text_or("tls_certificate", "");
    config_.http.tls_key = table.text_or("tls_key", "");
    if (config_.http.tls_certificate.empty() != config_.http.tls_key.empty())
      table.problem("tls_key", "tls_certificate and tls_key go together");
    table.finish();
  }

  std::vector<ChainConfig> read_chains(TomlTable table) {
    std::vector<ChainConfig> chains;
    for (const std::string& key : table.keys()) {
      const auto channel = parse_channel(key);
      if (!channel) {
        table.problem(key, fmt::format("is not a channel (one of {})", kChannelNames));
        continue;
      }
      chains.push_back({*channel, table.texts(key)});
      if (chains.back().providers.empty()) table.problem(key, "names no provider");
      for (const std::string& name : chains.back().providers) {
        references_.push_back(
            [this, table, key, channel = *channel, name] { check_provider(table, key, channel, name); });
      }
    }
    return chains;
  }

  void read_provider(const std::string& name, TomlTable table) {
    ProviderConfig provider;
    provider.settings.name = name;
    provider.settings.type = table.text_or("type", "");
    const auto adapter = std::find_if(adapters_.begin(), adapters_.end(),
                                      [&](const Adapter& a) { return a.type == provider.settings.type; });
    if (adapter == adapters_.end()) {
      std::string known;
      for (const Adapter& a : adapters_) known += (known.empty() ? "" : ", ") + std::string{a.type};
      table.problem("type", fmt::format("\"{}\" is not one of {}", provider.settings.type, known));
      return;
    }
    provider.settings.channel = adapter->channels.front();
    if (const auto channel = table.word<Channel>("channel", parse_channel, kChannelNames))
      provider.settings.channel = *channel;
    if (std::find(adapter->channels.begin(), adapter->channels.end(), provider.settings.channel) ==
        adapter->channels.end()) {
      table.problem("channel", fmt::format("{} cannot serve {}", adapter->type, to_text(provider.settings.channel)));
    }
    if (const auto acceptance = table.text("acceptance")) {
      if (*acceptance == "delivered") provider.acceptance = Acceptance::IsTheEnd;
      if (*acceptance == "sent") provider.acceptance = Acceptance::MayReportLater;
      if (!provider.acceptance) table.problem("acceptance", "must be sent or delivered");
    }
    provider.window = static_cast<int>(table.number("window", 1, 65'536).value_or(2048));
    provider.limit = read_limit(table);
    for (const SettingRule& rule : adapter->settings) read_setting(rule, table, provider.settings);
    table.finish();
    if (!problems_.first()) {
      if (auto made = adapter->make(provider.settings); !made) blame(*adapter, table, made.error().text);
      if (auto endpoint = adapter->endpoint(provider.settings); !endpoint)
        blame(*adapter, table, endpoint.error().text);
    }
    config_.providers.push_back(std::move(provider));
  }

  // An adapter's complaint begins with the key that it is about.
  static void blame(const Adapter& adapter, TomlTable& table, std::string_view text) {
    const std::string_view word = text.substr(0, text.find(' '));
    const bool is_key = std::any_of(adapter.settings.begin(), adapter.settings.end(),
                                    [&](const SettingRule& rule) { return rule.key == word; });
    table.problem(is_key ? word : "type", is_key ? trim(text.substr(word.size())) : text);
  }

  void read_setting(const SettingRule& rule, TomlTable& table, ProviderSettings& settings) {
    const std::string key{rule.key};
    switch (rule.kind) {
      case SettingKind::Text:
        if (const auto value = table.text(key)) settings.values[key] = *value;
        break;
      case SettingKind::Number:
        if (const auto value = table.number(key, 1, 1'000'000)) settings.values[key] = std::to_string(*value);
        break;
      case SettingKind::Flag:
        if (const auto value = table.flag(key)) settings.values[key] = *value ? "true" : "false";
        break;
      case SettingKind::Secret: read_secret(key, table, settings); break;
    }
    if (rule.required && settings.values.count(key) == 0 && settings.secrets.count(key) == 0) {
      table.problem(key, fmt::format("is required: {}", rule.meaning));
    }
  }

  void read_secret(const std::string& key, TomlTable& table, ProviderSettings& settings) {
    const toml::node* node = table.take(key);
    if (node == nullptr) return;
    if (node->as_table() == nullptr) {
      table.problem(key, "secrets are not written here; use { env = \"NAME\" } or { file = \"PATH\" }");
      return;
    }
    TomlTable source{node->as_table(), table.name(key), problems_};
    const auto env = source.text("env");
    const auto file = source.text("file");
    source.finish();
    if (env.has_value() == file.has_value()) {
      table.problem(key, "needs either env or file");
      return;
    }
    std::string value;
    if (env) {
      value = sources_.read_env(*env);
      if (value.empty()) table.problem(key, fmt::format("the environment has no {}", *env));
    } else {
      auto read = sources_.read_file(*file);
      if (!read) table.problem(key, read.error().text);
      if (read) value = std::string{trim(*read)};
      if (read && value.empty()) table.problem(key, fmt::format("the file {} is empty", *file));
    }
    settings.secrets[key] = Secret{std::move(value)};
  }

  void read_tenant(TomlTable& table) {
    TenantConfig tenant;
    tenant.name = table.text_or("name", "");
    if (tenant.name.empty()) table.problem("name", "is required");
    for (const TenantConfig& other : config_.tenants) {
      if (other.name == tenant.name) table.problem("name", fmt::format("\"{}\" is given twice", tenant.name));
    }
    tenant.chains = read_chains(table.table("channels"));
    read_tenant_settings(table, tenant);
    table.finish();
    config_.tenants.push_back(std::move(tenant));
  }

  void read_route(TomlTable& table) {
    Route route = read_route_table(table, config_.databases);
    refer_to_tenant(table, route.tenant);
    table.finish();
    for (const Route& other : config_.routes) {
      if (other.type == route.type && other.tenant == route.tenant)
        table.problem("type", fmt::format("\"{}\" has two routes", route.type));
    }
    config_.routes.push_back(std::move(route));
  }

  CompiledText read_text(TomlTable& table, std::string_view key) {
    const auto text = table.text(key);
    if (!text) return {};
    auto compiled = CompiledText::compile(*text);
    if (!compiled) table.problem(key, compiled.error().text);
    return std::move(compiled).value_or(CompiledText{});
  }

  void read_template(TomlTable& table) {
    Template entry;
    entry.key = table.text_or("key", "");
    if (entry.key.empty()) table.problem("key", "is required");
    entry.tenant = table.text_or("tenant", "");
    refer_to_tenant(table, entry.tenant);
    entry.type = table.text_or("type", "");
    if (entry.type.empty()) table.problem("type", "is required");
    const auto channel = table.word<Channel>("channel", parse_channel, kChannelNames);
    if (!channel) table.problem("channel", "is required");
    entry.channel = channel.value_or(Channel::Email);
    entry.version = static_cast<int>(table.number("version", 1, 1'000'000).value_or(1));
    entry.active = table.flag("active").value_or(true);
    LocalText text;
    text.subject = read_text(table, "subject");
    text.body = read_text(table, "body");
    text.html = read_text(table, "html");
    if (text.body.empty() && text.html.empty()) table.problem("body", "is required");
    entry.texts.push_back(std::move(text));
    table.finish();
    for (const Template& other : config_.templates) {
      const bool same_place = other.tenant == entry.tenant && other.channel == entry.channel;
      if (same_place && (other.key == entry.key || (other.type == entry.type && other.active && entry.active))) {
        table.problem("key",
                      fmt::format("there is already a template for this type, channel and tenant (\"{}\")", other.key));
      }
    }
    config_.templates.push_back(std::move(entry));
  }

  void read_policy(TomlTable& table) {
    PolicyRule rule;
    if (const auto preset = table.text("preset")) {
      std::string known;
      for (const std::string_view name : preset_policy_names())
        known += (known.empty() ? "" : ", ") + std::string{name};
      const auto found = preset_policy(*preset);
      if (!found) table.problem("preset", fmt::format("\"{}\" is not one of {}", *preset, known));
      rule.policy = found.value_or(Policy{});
    }
    rule.origin = table.text_or("origin", "");
    rule.type = table.text_or("type", "");
    rule.channel = table.word<Channel>("channel", parse_channel, kChannelNames);
    rule.lane = table.word<Lane>("lane", parse_lane, kLaneNames);
    Policy& policy = rule.policy;
    if (const auto kind = table.text("kind")) {
      if (*kind == "exponential") {
        policy.kind = PolicyKind::Exponential;
      } else if (*kind == "fixed") {
        policy.kind = PolicyKind::Fixed;
      } else if (*kind == "ladder") {
        policy.kind = PolicyKind::Ladder;
      } else {
        table.problem("kind", fmt::format("\"{}\" is not one of exponential, fixed, ladder", *kind));
      }
    }
    if (const auto base = table.duration("base")) policy.base = *base;
    if (const auto interval = table.duration("interval")) policy.base = *interval;
    if (const auto cap = table.duration("cap")) policy.cap = *cap;
    if (const auto jitter = table.duration("jitter")) policy.jitter = *jitter;
    if (const auto timeout = table.duration("timeout")) policy.timeout = *timeout;
    if (policy.timeout < std::chrono::milliseconds{100} || policy.timeout > std::chrono::minutes{10}) {
      table.problem("timeout", "must be from 100ms to 10m");
    }
    if (const auto factor = table.real("factor")) policy.factor = *factor;
    const bool sensible = policy.factor >= 1.0 && policy.factor <= 100.0;  // "nan" is neither less nor more.
    if (!sensible) table.problem("factor", "must be from 1 to 100");
    if (const auto most = table.number("max_attempts", 1, 100)) policy.attempts_max = static_cast<int>(*most);
    const auto steps = table.texts("ladder");
    if (!steps.empty()) policy.ladder.clear();
    for (const std::string& step : steps) {
      const auto delay = parse_duration(step);
      if (!delay) table.problem("ladder", fmt::format("\"{}\" is not a duration", step));
      policy.ladder.push_back(delay.value_or(Duration{}));
    }
    if (policy.kind == PolicyKind::Ladder && policy.ladder.empty())
      table.problem("ladder", "is required for kind = \"ladder\"");
    table.finish();
    config_.policies.push_back(std::move(rule));
  }

  void check_references() {
    if (config_.tenants.empty()) config_.tenants.push_back({"default", {}});
    for (const auto& check : references_) check();
  }

  void check_provider(const TomlTable& table, const std::string& key, Channel channel, const std::string& name) {
    const auto found = std::find_if(config_.providers.begin(), config_.providers.end(),
                                    [&](const ProviderConfig& p) { return p.settings.name == name; });
    if (found == config_.providers.end()) {
      table.problem(key, fmt::format("there is no provider \"{}\"", name));
    } else if (found->settings.channel != channel) {
      table.problem(key, fmt::format("provider \"{}\" serves {}", name, to_text(found->settings.channel)));
    }
  }

  void refer_to_tenant(const TomlTable& table, const std::string& name) {
    if (name.empty()) return;
    references_.push_back([this, table, name] {
      const bool known = std::any_of(config_.tenants.begin(), config_.tenants.end(),
                                     [&](const TenantConfig& t) { return t.name == name; });
      if (!known) table.problem("tenant", fmt::format("there is no tenant \"{}\"", name));
    });
  }

  Config& config_;
  Problems& problems_;
  const std::vector<Adapter>& adapters_;
  const ConfigSources& sources_;
  std::vector<std::function<void()>> references_;  // checked when everything has been read
};

// Where a string or a comment that begins at `at` ends; `at` itself when none does.
std::size_t behind_quoted(std::string_view text, std::size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (text[at] != '"' && text[at] != '\'') return at;
  const char quote = text[at];
  const std::string three(3, quote);
  const std::string_view end = text.substr(at).starts_with(three) ? std::string_view{three} : text.substr(at, 1);
  for (std::size_t i = at + end.size(); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text.substr(i).starts_with(end)) {
      i += end.size();
      const std::size_t most =
          end.size() == 1 ? i : std::min(i + 2, text.size());  // three may follow one or two inside
      while (i < most && text[i] == quote) ++i;
      return i;
    } else if (text[i] == '\n' && end.size() == 1) {
      return i;  // never closed: the parser says so
    }
  }
  return text.size();
}

// Names and values outside of quotes are ASCII. Anything else is told before the parser sees it.
std::optional<std::size_t> line_of_foreign_letter(std::string_view text) {
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (at < text.size()) {
    if (const std::size_t end = behind_quoted(text, at); end != at) {
      at = end;
      continue;
    }
    if (static_cast<unsigned char>(text[at]) >= 0x80) {
      return 1 +
             static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
    ++at;
  }
  return std::nullopt;
}

// The parser trips over such letters where it looks ahead in a malformed value. The text with ASCII in their stead
// tells whether it is malformed; in one that is not, they stand only in quotes and comments.
std::string without_foreign_letters(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::string plain;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) {
      plain += c;
    } else {
      fmt::format_to(std::back_inserter(plain), "_{:02x}_", static_cast<unsigned char>(c));  // names stay apart
    }
  }
  return plain;
}

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

Result<std::string> file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorCode::NotFound, fmt::format("cannot read {}", path)};
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

}  // namespace

Result<Config> parse_config(std::string_view text, const std::string& file, const std::vector<Adapter>& adapters,
                            const ConfigSources& sources) {
  Config config;
  config.file = file;
  if (const auto line = line_of_foreign_letter(text)) {
    return Error{ErrorCode::Invalid,
                 fmt::format("{}:{}: outside of quotes and comments only ASCII letters may stand", file, *line)};
  }
  toml::parse_result parsed = toml::parse(without_foreign_letters(text), file);
  if (parsed) parsed = toml::parse(text, file);
  if (!parsed) {
    return Error{ErrorCode::Invalid, fmt::format("{}:{}: {}", file, parsed.error().source().begin.line,
                                                 std::string_view{parsed.error().description()})};
  }
  Problems problems{file};
  ConfigReader{config, problems, adapters, sources}.read(TomlTable{&parsed.table(), "", problems});
  if (problems.first()) return Error{ErrorCode::Invalid, *problems.first()};
  return config;
}

Result<Config> load_config(const std::string& file, const std::vector<Adapter>& adapters) {
  POSTRIDER_TRY(text, file_text(file));
  return parse_config(text, file, adapters, {environment, file_text});
}

Result<HttpConfig> parse_listen(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return Error{ErrorCode::Invalid, "must be HOST:PORT, for example 127.0.0.1:8080"};
  const std::string_view digits = text.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port > 65535) {
    return Error{ErrorCode::Invalid, "the port must be a number from 0 to 65535"};
  }
  HttpConfig http;
  http.host = std::string{host};
  http.port = static_cast<std::uint16_t>(port);
  return http;
}

Result<Rules> make_rules(const Config& config, const std::vector<Adapter>& adapters,
                         const std::vector<TenantId>& tenants, const std::vector<ProviderId>& providers) {
  POSTRIDER_CHECK(tenants.size() == config.tenants.size() && providers.size() == config.providers.size());
  Rules rules;
  const auto provider_id = [&](const std::string& name) {
    for (std::size_t i = 0; i < providers.size(); ++i) {
      if (config.providers[i].settings.name == name) return providers[i];
    }
    return ProviderId{0};
  };
  const auto chains_of = [&](const std::vector<ChainConfig>& chains) {
    std::map<Channel, std::vector<ProviderId>> out;
    for (const ChainConfig& chain : chains) {
      for (const std::string& name : chain.providers) out[chain.channel].push_back(provider_id(name));
    }
    return out;
  };
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const TenantConfig& tenant = config.tenants[i];
    rules.tenants.push_back({.id = tenants[i],
                             .name = tenant.name,
                             .chains = chains_of(tenant.chains),
                             .writing = tenant.writing,
                             .quiet_hours = tenant.quiet_hours,
                             .exempt_categories = tenant.exempt_categories,
                             .limit = tenant.limit});
  }
  for (std::size_t i = 0; i < providers.size(); ++i) {
    const ProviderConfig& provider = config.providers[i];
    const auto adapter = std::find_if(adapters.begin(), adapters.end(),
                                      [&](const Adapter& a) { return a.type == provider.settings.type; });
    POSTRIDER_CHECK(adapter != adapters.end());
    POSTRIDER_TRY(endpoint, adapter->endpoint(provider.settings));
    ProviderRule rule{.id = providers[i], .name = provider.settings.name, .channel = provider.settings.channel};
    rule.acceptance = provider.acceptance.value_or(adapter->acceptance);
    rule.window = provider.window;
    rule.connections = endpoint.connections_max;
    rule.ahead = 4 * rule.connections;
    rule.limit = provider.limit;
    if (rule.limit.concurrency > 0) {  // nothing waits in the transport then: it would be one call too many
      rule.connections = std::min(rule.connections, rule.limit.concurrency);
      rule.ahead = 0;
    }
    const auto value = [&](const char* key) {
      const auto found = provider.settings.values.find(key);
      return found == provider.settings.values.end() ? std::string{} : found->second;
    };
    if (adapter->type == "webhook") rule.fixed_recipient = value("url");
    const std::string most = value("max_attempts");
    const std::string interval = value("retry_interval");
    if (!most.empty() || !interval.empty()) {
      Policy own = *preset_policy("fixed");
      if (!most.empty()) own.attempts_max = std::max(1, std::atoi(most.c_str()));
      own.base = parse_duration(interval).value_or(own.base);
      rule.own_policy = own;
    }
    rules.providers.push_back(std::move(rule));
  }
  rules.chains = chains_of(config.chains);
  rules.routes = config.routes;
  for (const Template& entry : config.templates) rules.templates.add(entry);
  rules.policies = config.policies;
  rules.index();
  return rules;
}

}  // namespace postrider
