#include "core/rules.h"

#include <algorithm>

namespace postrider {
namespace {
template <class Map>
auto look_up(const Map& map, std::string_view tenant, std::string_view type) {
  return map.find(std::pair<std::string, std::string>{tenant, type});
}
}  // namespace

void Rules::index() {
  tenant_by_name_.clear();
  tenant_by_id_.clear();
  route_by_type_.clear();
  provider_by_id_.clear();
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    tenant_by_name_.emplace(tenants[i].name, i);
    tenant_by_id_.emplace(tenants[i].id, i);
  }
  for (std::size_t i = 0; i < routes.size(); ++i) route_by_type_.emplace(TypeKey{routes[i].tenant, routes[i].type}, i);
  for (std::size_t i = 0; i < providers.size(); ++i) provider_by_id_.emplace(providers[i].id, i);
}

bool Tenant::exempts(std::string_view category) const {
  return !category.empty() &&
         std::find(exempt_categories.begin(), exempt_categories.end(), category) != exempt_categories.end();
}

const Tenant* Rules::tenant(std::string_view name) const {
  const auto found = tenant_by_name_.find(name);
  return found == tenant_by_name_.end() ? nullptr : &tenants[found->second];
}

const Tenant* Rules::tenant(TenantId id) const {
  const auto found = tenant_by_id_.find(id);
  return found == tenant_by_id_.end() ? nullptr : &tenants[found->second];
}

const Route* Rules::route(std::string_view tenant, std::string_view type) const {
  auto found = look_up(route_by_type_, tenant, type);
  if (found == route_by_type_.end()) found = look_up(route_by_type_, "", type);
  return found == route_by_type_.end() ? nullptr : &routes[found->second];
}

const ProviderRule* Rules::provider(ProviderId id) const {
  const auto found = provider_by_id_.find(id);
  return found == provider_by_id_.end() ? nullptr : &providers[found->second];
}

const ProviderRule* Rules::provider(std::string_view name) const {
  const auto found =
      std::find_if(providers.begin(), providers.end(), [&](const ProviderRule& p) { return p.name == name; });
  return found == providers.end() ? nullptr : &*found;
}

const ProviderRule* Rules::first_provider(const Tenant& tenant, Channel channel) const {
  const auto own = tenant.chains.find(channel);
  if (own != tenant.chains.end() && !own->second.empty()) return provider(own->second.front());
  const auto common = chains.find(channel);
  return common == chains.end() || common->second.empty() ? nullptr : provider(common->second.front());
}

ExemptCategories Rules::exempt_categories() const {
  ExemptCategories out;
  for (const Tenant& each : tenants) {
    if (!each.exempt_categories.empty()) out.emplace(each.id, each.exempt_categories);
  }
  return out;
}

const Policy& Rules::policy_for(const Delivery& delivery, const ProviderRule* provider) const {
  if (provider != nullptr && provider->own_policy) return *provider->own_policy;
  return choose_policy(policies, {delivery.origin, delivery.channel, delivery.type, delivery.lane});
}

}  // namespace postrider
