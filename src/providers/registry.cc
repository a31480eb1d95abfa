#include "providers/registry.h"

#include <algorithm>
#include <charconv>

#include "providers/adapters.h"

namespace postrider {
namespace {

constexpr SettingRule kConnections{"connections", SettingKind::Number, false, "connections at most (default 64)"};
constexpr SettingRule kAllowInternal{"allow_internal", SettingKind::Flag, false,
                                     "true: may reach loopback and private addresses (default false)"};
constexpr SettingRule kCaFile{"ca_file", SettingKind::Text, false,
                              "PEM file of the authorities to trust (default: the system's)"};

}  // namespace

const std::vector<Adapter>& adapters() {
  static const std::vector<Channel> kAny(kChannels.begin(), kChannels.end());
  static const std::vector<Adapter> kAdapters{
      {"sandbox",
       "keeps what would be sent, readable at /api/v1/sandbox/messages",
       kAny,
       Acceptance::IsTheEnd,
       {},
       make_sandbox,
       plain_endpoint},
      {"shim",
       "fails on chosen types or keys, for tests of retries",
       kAny,
       Acceptance::IsTheEnd,
       {{"fail_on", SettingKind::Text, false, "types or idempotency keys to fail on, separated by commas"}},
       make_shim,
       plain_endpoint},
      {"webhook",
       "POST with a Standard Webhooks signature",
       {Channel::Webhook},
       Acceptance::IsTheEnd,
       {{"url", SettingKind::Text, false, "where to post; without it the recipient is the URL"},
        {"secret", SettingKind::Secret, false, "whsec_… with which requests are signed"},
        {"previous_secret", SettingKind::Secret, false, "signs too, while receivers change over"},
        kConnections,
        kAllowInternal,
        kCaFile},
       make_webhook,
       plain_endpoint},
      {"smtp",
       "mail by SMTP submission",
       {Channel::Email},
       Acceptance::IsTheEnd,
       {{"host", SettingKind::Text, true, "the mail server"},
        {"port", SettingKind::Number, false, "default 587, with tls = \"implicit\" 465"},
        {"tls", SettingKind::Text, false, "starttls (default), implicit or none"},
        {"user", SettingKind::Text, false, "for AUTH"},
        {"password", SettingKind::Secret, false, "for AUTH"},
        {"from", SettingKind::Text, true, "sender, \"Name <address>\" or an address"},
        {"reply_to", SettingKind::Text, false, "address for answers"},
        {"hello", SettingKind::Text, false, "name to greet with (default localhost)"},
        {"max_attempts", SettingKind::Number, false, "its own limit of calls"},
        {"retry_interval", SettingKind::Text, false, "its own fixed interval, for example 60s"},
        kConnections,
        kAllowInternal,
        kCaFile},
       make_smtp,
       smtp_endpoint},
  };
  return kAdapters;
}

const Adapter* find_adapter(std::string_view type) {
  const auto found =
      std::find_if(adapters().begin(), adapters().end(), [&](const Adapter& a) { return a.type == type; });
  return found == adapters().end() ? nullptr : &*found;
}

std::string setting(const ProviderSettings& settings, const std::string& key, std::string_view otherwise) {
  const auto found = settings.values.find(key);
  return found == settings.values.end() ? std::string{otherwise} : found->second;
}

bool flag_setting(const ProviderSettings& settings, const std::string& key, bool otherwise) {
  const auto found = settings.values.find(key);
  return found == settings.values.end() ? otherwise : found->second == "true";
}

int number_setting(const ProviderSettings& settings, const std::string& key, int otherwise) {
  const auto found = settings.values.find(key);
  if (found == settings.values.end()) return otherwise;
  int number = otherwise;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

std::string_view secret_setting(const ProviderSettings& settings, const std::string& key) {
  const auto found = settings.secrets.find(key);
  return found == settings.secrets.end() ? std::string_view{} : found->second.reveal();
}

Result<Endpoint> plain_endpoint(const ProviderSettings& settings) {
  Endpoint endpoint;
  endpoint.connections_max = number_setting(settings, "connections", 64);
  endpoint.connections_kept_for_priority = endpoint.connections_max / 8;
  endpoint.internal =
      flag_setting(settings, "allow_internal", false) ? InternalAddresses::Allowed : InternalAddresses::Forbidden;
  endpoint.ca_file = setting(settings, "ca_file");
  return endpoint;
}

}  // namespace postrider
