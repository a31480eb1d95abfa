// What the engine was told to do: tenants, routes, templates, policies, and which provider serves a channel.
// Built once from the configuration, then only read; many threads share it.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/delivery.h"
#include "core/render.h"
#include "core/retry.h"

namespace postrider {

struct Template {
  std::string key = {};     // stays the same over versions: part of the delivery's key
  std::string tenant = {};  // empty: every tenant
  std::string type = {};
  Channel channel = Channel::Email;
  int version = 1;
  bool active = true;
  CompiledText subject = {};
  CompiledText body = {};
  CompiledText html = {};
};

enum class RecipientShape : std::uint8_t { Single, Array };

struct RecipientSource {
  Channel channel = Channel::Email;
  std::string field = {};  // path in the payload
  RecipientShape shape = RecipientShape::Single;
};

/// How a tenant's templates write for people.
struct Writing {
  std::string locale = "en-US";
  std::string timezone = "UTC";
  std::string date_format = {};  // for dates that no formatter is named for; empty: as they came
  MissingKey missing_keys = MissingKey::Empty;
};

struct Route {
  std::string tenant = {};  // empty: every tenant
  std::string type = {};
  std::string date_format = {};  // empty: the tenant's
  std::optional<Lane> lane = {};
  Guarantee guarantee = Guarantee::AtLeastOnce;
  std::string category = {};
  std::vector<RecipientSource> recipients = {};
};

/// A configured account of an adapter, as far as the core needs to know it.
struct ProviderRule {
  ProviderId id = 0;
  std::string name = {};
  Channel channel = Channel::Email;
  Acceptance acceptance = Acceptance::MayReportLater;
  std::string fixed_recipient = {};  // a webhook whose URL is configured
  int window = 1024;                 // calls claimed and not yet recorded, at most
  int connections = 64;
  int ahead = 0;  // calls handed over beyond the connections, while the provider answers quickly
  std::optional<Policy> own_policy = {};  // an SMTP provider may carry its own
};

struct Tenant {
  TenantId id = 0;
  std::string name = {};
  std::map<Channel, std::vector<ProviderId>> chains = {};  // overrides the common ones
  Writing writing = {};
};

class Rules {
 public:
  std::vector<Tenant> tenants = {};
  std::vector<Route> routes = {};
  std::vector<Template> templates = {};
  std::vector<PolicyRule> policies = {};
  std::vector<ProviderRule> providers = {};
  std::map<Channel, std::vector<ProviderId>> chains = {};  // channel -> providers, first choice first
  const Formatter* formatter = nullptr;  // of dates and numbers in templates; null: they stay as they came

  /// Builds the look-ups below; call once after filling the lists.
  void index();

  [[nodiscard]] const Tenant* tenant(std::string_view name) const;
  [[nodiscard]] const Tenant* tenant(TenantId id) const;
  [[nodiscard]] const Route* route(std::string_view tenant, std::string_view type) const;  // the tenant's own wins
  /// Active templates of a type, one per channel (the tenant's own wins), ordered by channel.
  [[nodiscard]] std::vector<const Template*> templates_for(std::string_view tenant, std::string_view type) const;
  [[nodiscard]] const Template* template_by_key(std::string_view tenant, std::string_view key, Channel channel) const;
  [[nodiscard]] const ProviderRule* provider(ProviderId id) const;
  [[nodiscard]] const ProviderRule* provider(std::string_view name) const;
  /// The first provider of the channel for this tenant; null when there is none.
  [[nodiscard]] const ProviderRule* first_provider(const Tenant& tenant, Channel channel) const;
  [[nodiscard]] const Policy& policy_for(const Delivery& delivery, const ProviderRule* provider) const;

 private:
  using TypeKey = std::pair<std::string, std::string>;  // tenant, type
  std::map<std::string, std::size_t, std::less<>> tenant_by_name_;
  std::map<TenantId, std::size_t> tenant_by_id_;
  std::map<TypeKey, std::size_t, std::less<>> route_by_type_;
  std::map<TypeKey, std::vector<std::size_t>, std::less<>> templates_by_type_;
  std::map<ProviderId, std::size_t> provider_by_id_;
};

}  // namespace postrider
