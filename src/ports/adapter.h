// What an adapter says about itself, so that the configuration can be checked without knowing any adapter by name.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "core/rules.h"
#include "ports/provider.h"

namespace postrider {

struct ProviderSettings {
  std::string name = {};
  std::string type = {};
  Channel channel = Channel::Email;
  std::map<std::string, std::string> values = {};  // every key but the secrets
  std::map<std::string, Secret> secrets = {};      // already read from environment or file
};

enum class SettingKind : std::uint8_t { Text, Number, Flag, Secret };
struct SettingRule {
  std::string_view key;
  SettingKind kind = SettingKind::Text;
  bool required = false;
  std::string_view meaning;
};

struct Adapter {
  std::string_view type;
  std::string_view meaning;
  std::vector<Channel> channels;  // which it can serve; the first is the default
  Acceptance acceptance = Acceptance::MayReportLater;
  std::vector<SettingRule> settings;
  Result<std::unique_ptr<Provider>> (*make)(const ProviderSettings&) = nullptr;
  /// Fills what is particular to the adapter (SMTP host, …).
  Result<Endpoint> (*endpoint)(const ProviderSettings&) = nullptr;
};

}  // namespace postrider
