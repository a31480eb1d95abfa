#include "pipeline/template_sources.h"

#include "base/json.h"

namespace postrider {
namespace {

constexpr std::size_t kSourcesPage = 500;

std::string params_json(const TextSource& text) {
  JsonWriter out;
  out.begin_array();
  for (const auto& [name, value] : text.provider_params) out.begin_array().value(name).value(value).end_array();
  return out.end_array().take();
}

std::vector<std::pair<std::string, std::string>> params_of(const std::string& json) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto parsed = JsonDocument::parse(json);
  if (!parsed) return out;
  for (const JsonView& pair : parsed->root().items()) {
    const auto both = pair.items();
    if (both.size() == 2) out.emplace_back(both[0].spoken(), both[1].spoken());
  }
  return out;
}

std::string tenant_name(TenantId id, const Rules& rules) {
  const Tenant* tenant = id == 0 ? nullptr : rules.tenant(id);
  return tenant == nullptr ? "" : tenant->name;
}

}  // namespace

TemplateSource source_of(const StoredTemplate& stored, const Rules& rules) {
  TemplateSource out{.tenant = tenant_name(stored.tenant, rules),
                     .key = stored.key,
                     .name = stored.name,
                     .type = stored.type,
                     .channel = stored.channel,
                     .scope_type = stored.scope_type,
                     .scope_id = stored.scope_id,
                     .active = stored.active};
  for (const StoredText& text : stored.texts) {
    out.texts.push_back({.locale = text.locale,
                         .subject = text.subject,
                         .body = text.body,
                         .html = text.html,
                         .provider_template = text.provider_template,
                         .provider_params = params_of(text.provider_params)});
  }
  return out;
}

StoredTemplate stored_of(const TemplateSource& source, TenantId tenant) {
  StoredTemplate out;
  out.tenant = tenant;
  out.key = source.key;
  out.name = source.name;
  out.type = source.type;
  out.channel = source.channel;
  out.scope_type = source.scope_type;
  out.scope_id = source.scope_id;
  out.active = source.active;
  for (const TextSource& text : source.texts) {
    out.texts.push_back({text.locale, text.subject, text.body, text.html, text.provider_template, params_json(text)});
  }
  return out;
}

Result<std::vector<StoredTemplate>> all_templates(TemplateStore& store, std::optional<TenantId> tenant) {
  std::vector<StoredTemplate> out;
  TemplateFilter filter{.tenant = tenant, .count_max = kSourcesPage};
  for (;;) {
    POSTRIDER_TRY(page, store.templates(filter));
    for (StoredTemplate& each : page) {
      filter.after = each.id;
      out.push_back(std::move(each));
    }
    if (page.size() < kSourcesPage) return out;
  }
}

std::vector<TemplateSource> sources_of(const std::vector<StoredTemplate>& stored, const Rules& rules) {
  std::vector<TemplateSource> out;
  for (const StoredTemplate& each : stored) out.push_back(source_of(each, rules));
  return out;
}

TemplateSet partials_among(const std::vector<StoredTemplate>& stored, const Rules& rules) {
  TemplateSet out;
  for (const StoredTemplate& each : stored) {
    if (each.channel || !each.active) continue;
    for (const StoredText& text : each.texts)
      (void)out.add_partial(tenant_name(each.tenant, rules), each.key, text.locale, text.body);
  }
  return out;
}

}  // namespace postrider
