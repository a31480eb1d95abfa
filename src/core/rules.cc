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
  templates_by_type_.clear();
  provider_by_id_.clear();
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    tenant_by_name_.emplace(tenants[i].name, i);
    tenant_by_id_.emplace(tenants[i].id, i);
  }
  for (std::size_t i = 0; i < routes.size(); ++i) route_by_type_.emplace(TypeKey{routes[i].tenant, routes[i].type}, i);
  for (std::size_t i = 0; i < templates.size(); ++i) {
    if (templates[i].active) templates_by_type_[TypeKey{templates[i].tenant, templates[i].type}].push_back(i);
  }
  for (std::size_t i = 0; i < providers.size(); ++i) provider_by_id_.emplace(providers[i].id, i);
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

std::vector<const Template*> Rules::templates_for(std::string_view tenant, std::string_view type) const {
  std::vector<const Template*> out;
  for (const std::string_view owner : {tenant, std::string_view{}}) {
    const auto found = look_up(templates_by_type_, owner, type);
    if (found == templates_by_type_.end()) continue;
    for (const std::size_t i : found->second) {
      const Template& candidate = templates[i];
      const bool taken =
          std::any_of(out.begin(), out.end(), [&](const Template* t) { return t->channel == candidate.channel; });
      if (!taken) out.push_back(&candidate);
    }
  }
  std::sort(out.begin(), out.end(), [](const Template* a, const Template* b) { return a->channel < b->channel; });
  return out;
}

const Template* Rules::template_by_key(std::string_view tenant, std::string_view key, Channel channel) const {
  const Template* common = nullptr;
  for (const Template& candidate : templates) {
    if (!candidate.active || candidate.key != key || candidate.channel != channel) continue;
    if (candidate.tenant == tenant) return &candidate;
    if (candidate.tenant.empty()) common = &candidate;
  }
  return common;
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

const Policy& Rules::policy_for(const Delivery& delivery, const ProviderRule* provider) const {
  if (provider != nullptr && provider->own_policy) return *provider->own_policy;
  return choose_policy(policies, {delivery.origin, delivery.channel, delivery.type, delivery.lane});
}

}  // namespace postrider
