// What the engine was told to do: tenants, routes, templates, policies, and which provider serves a channel.
// Built once from the configuration, then only read; many threads share it.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/contact.h"
#include "core/context.h"
#include "core/delivery.h"
#include "core/quiet_hours.h"
#include "core/retry.h"
#include "core/template.h"

namespace postrider {

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
  std::vector<std::string> locales = {};    // that the tenant writes in; empty: whatever is asked for
  std::vector<std::string> fallbacks = {};  // for templates that lack a locale; empty: that is an error
  LocaleMatching matching = LocaleMatching::LookUp;
};

/// How fast, at most. Zero: no limit. Rates are shared by the living nodes.
struct Limit {
  double per_second = 0;
  double burst = 0;     // how many at once after a pause; 0: one second's worth
  int concurrency = 0;  // calls open at the same time, on each node
  [[nodiscard]] bool limits() const { return per_second > 0 || concurrency > 0; }
};

/// A due time from a date that the event carries: "24 h before checkinDate".
struct Schedule {
  std::string field = {};  // path in the payload or in the record; empty: at once
  Duration offset = {};    // negative: before it
};
/// Templates for one thing only: the payload's field says which ("listing", listingId).
struct ScopeSource {
  std::string type = {};
  std::string field = {};
};

struct Route {
  std::string tenant = {};  // empty: every tenant
  std::string type = {};
  std::string date_format = {};  // empty: the tenant's
  std::optional<Lane> lane = {};
  Guarantee guarantee = Guarantee::AtLeastOnce;
  std::string category = {};
  std::vector<RecipientSource> recipients = {};
  std::string contact_field = {};        // path in the payload to a contact's key; before `recipients`
  std::string list = {};                 // name of a list; before `recipients`
  std::vector<ScopeSource> scopes = {};  // narrowest first
  std::optional<ContextRule> context = {};
  CancelCondition cancel_when = {};
  Rendering rendering = Rendering::Early;
  Schedule schedule = {};
  std::vector<std::string> keys = {};  // that its events carry, for checks of templates
};

/// A configured account of an adapter, as far as the core needs to know it.
struct ProviderRule {
  ProviderId id = 0;
  std::string name = {};
  Channel channel = Channel::Email;
  Acceptance acceptance = Acceptance::MayReportLater;
  std::string fixed_recipient = {};  // a webhook whose URL is configured
  int window = 2048;                 // deliveries held for it at most
  int connections = 64;
  int ahead = 0;  // calls handed over beyond the connections at most, while the provider answers quickly
  std::optional<Policy> own_policy = {};  // an SMTP provider may carry its own
  Limit limit = {};
};

struct Tenant {
  TenantId id = 0;
  std::string name = {};
  std::map<Channel, std::vector<ProviderId>> chains = {};  // overrides the common ones
  Writing writing = {};
  std::optional<QuietHours> quiet_hours = {};       // for contacts that have none of their own
  std::vector<std::string> exempt_categories = {};  // sent at any time, whatever a general wish says
  Limit limit = {};

  [[nodiscard]] bool exempts(std::string_view category) const;
};

class Rules {
 public:
  std::vector<Tenant> tenants = {};
  std::vector<Route> routes = {};
  TemplateSet templates = {};  // of the configuration file; an engine adds the stored ones
  std::vector<PolicyRule> policies = {};
  std::vector<ProviderRule> providers = {};
  std::map<Channel, std::vector<ProviderId>> chains = {};  // channel -> providers, first choice first
  const Formatter* formatter = nullptr;  // of dates and numbers in templates; null: they stay as they came
  const Zones* zones = nullptr;          // for quiet hours and dates without a time; null: UTC only

  /// Builds the look-ups below; call once after filling the lists.
  void index();

  [[nodiscard]] const Tenant* tenant(std::string_view name) const;
  [[nodiscard]] const Tenant* tenant(TenantId id) const;
  [[nodiscard]] const Route* route(std::string_view tenant, std::string_view type) const;  // the tenant's own wins
  [[nodiscard]] const ProviderRule* provider(ProviderId id) const;
  [[nodiscard]] const ProviderRule* provider(std::string_view name) const;
  /// The first provider of the channel for this tenant; null when there is none.
  [[nodiscard]] const ProviderRule* first_provider(const Tenant& tenant, Channel channel) const;
  [[nodiscard]] ExemptCategories exempt_categories() const;
  [[nodiscard]] const Policy& policy_for(const Delivery& delivery, const ProviderRule* provider) const;

 private:
  using TypeKey = std::pair<std::string, std::string>;  // tenant, type
  std::map<std::string, std::size_t, std::less<>> tenant_by_name_;
  std::map<TenantId, std::size_t> tenant_by_id_;
  std::map<TypeKey, std::size_t, std::less<>> route_by_type_;
  std::map<ProviderId, std::size_t> provider_by_id_;
};

}  // namespace postrider
