#include "pipeline/catalog.h"

#include <fmt/format.h>

namespace postrider {
namespace {

constexpr std::size_t kPage = 500;

Result<CompiledText> compile_part(std::string_view name, const StoredText& text, std::string_view part) {
  auto compiled = CompiledText::compile(part);
  if (compiled) return compiled;
  return Error{ErrorCode::Invalid, fmt::format("{} ({}): {}", name, text.locale, compiled.error().text)};
}

Result<LocalText> compile_text(const StoredText& text) {
  LocalText out;
  out.locale = text.locale;
  POSTRIDER_TRY(subject, compile_part("subject", text, text.subject));
  POSTRIDER_TRY(body, compile_part("body", text, text.body));
  POSTRIDER_TRY(html, compile_part("html", text, text.html));
  out.subject = std::move(subject);
  out.body = std::move(body);
  out.html = std::move(html);
  out.provider_template = text.provider_template;
  auto params = JsonDocument::parse(text.provider_params);
  if (!params)
    return Error{ErrorCode::Invalid, fmt::format("provider_params ({}): {}", text.locale, params.error().text)};
  for (const JsonView& pair : params->root().items()) {
    const auto both = pair.items();
    if (both.size() != 2 || !both[0].is_text() || !both[1].is_text()) {
      return Error{ErrorCode::Invalid,
                   fmt::format("provider_params ({}): each is a pair of a name and a text", text.locale)};
    }
    POSTRIDER_TRY(value, compile_part("provider_params", text, *both[1].text()));
    out.provider_params.emplace_back(*both[0].text(), std::move(value));
  }
  return out;
}

}  // namespace

Result<Template> compile_template(const StoredTemplate& stored, std::string_view tenant_name) {
  Template out;
  out.id = stored.id;
  out.key = stored.key;
  out.name = stored.name;
  out.tenant = tenant_name;
  out.type = stored.type;
  out.channel = stored.channel.value_or(Channel::Email);
  out.scope_type = stored.scope_type;
  out.scope_id = stored.scope_id;
  out.version = stored.version;
  out.active = stored.active;
  for (const StoredText& text : stored.texts) {
    POSTRIDER_TRY(compiled, compile_text(text));
    out.texts.push_back(std::move(compiled));
  }
  return out;
}

Result<bool> Catalog::is_stale(TemplateStore& store) const {
  POSTRIDER_TRY(version, store.catalog_version());
  return version != version_;
}

Result<Done> Catalog::refresh_if_due(StoreSession& store, Instant now) {
  const bool due = now < asked_at_ || now - asked_at_ >= kAskEvery;
  if (!due) return Done{};
  POSTRIDER_TRY_DONE(refresh(store));
  asked_at_ = now;
  return Done{};
}

Result<Done> Catalog::refresh(StoreSession& store) {
  POSTRIDER_TRY(any, store.any_suppression());
  any_suppression_ = any;
  POSTRIDER_TRY(stale, is_stale(store));
  return stale ? load(store) : Result<Done>{Done{}};
}

Result<Done> Catalog::load(StoreSession& store) {
  POSTRIDER_TRY(version, store.catalog_version());  // before the rows: what changes meanwhile is read again
  auto set = std::make_shared<TemplateSet>();
  std::vector<std::string> problems;
  TemplateFilter filter{.count_max = kPage};
  for (;;) {
    POSTRIDER_TRY(page, store.templates(filter));
    for (const StoredTemplate& stored : page) {
      filter.after = stored.id;
      const Tenant* tenant = stored.tenant == 0 ? nullptr : rules_.tenant(stored.tenant);
      if (stored.tenant != 0 && tenant == nullptr) continue;
      const std::string name = tenant != nullptr ? tenant->name : "";
      if (!stored.channel) {
        if (!stored.active) continue;
        for (const StoredText& text : stored.texts) {
          if (auto added = set->add_partial(name, stored.key, text.locale, text.body); !added) {
            problems.push_back(fmt::format("partial {} ({}): {}", stored.key, text.locale, added.error().text));
          }
        }
        continue;
      }
      auto compiled = compile_template(stored, name);
      if (compiled) {
        set->add(std::move(*compiled));
      } else {
        problems.push_back(fmt::format("template {}: {}", stored.key, compiled.error().text));
      }
    }
    if (page.size() < filter.count_max) break;
  }
  if (filter.after == 0) {
    templates_.reset();  // nothing is stored: those of the configuration file are all there are
  } else {
    for (const Template& each : rules_.templates.all()) set->add(each);
    templates_ = std::move(set);
  }
  version_ = version;
  problems_ = std::move(problems);
  return Done{};
}

}  // namespace postrider
