#include "core/template.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kSecret = "secret";

void add_included(const CompiledText& text, std::vector<std::string>& names) {
  for (Placeholder& p : text.placeholders()) {
    if (p.kind == Placeholder::Kind::Partial) names.push_back(std::move(p.name));
  }
}

SecretUse most_of(const std::vector<std::string>& names, const std::map<std::string, SecretUse, std::less<>>& uses) {
  SecretUse most = SecretUse::None;
  for (const std::string& name : names) {
    if (const auto found = uses.find(name); found != uses.end()) most = std::max(most, found->second);
  }
  return most;
}

}  // namespace

SecretUse secret_use(const CompiledText& text) {
  SecretUse use = SecretUse::None;
  for (const Placeholder& p : text.placeholders()) {
    if (p.kind == Placeholder::Kind::Partial || !starts_with_ignoring_case(p.name, kSecret)) continue;
    if (p.name.size() == kSecret.size() || p.name[kSecret.size()] == '.') return SecretUse::Certain;
    if (p.name.find('.') == std::string::npos) use = SecretUse::Perhaps;
  }
  return use;
}

std::vector<std::string> Template::locales() const {
  std::vector<std::string> out;
  for (const LocalText& text : texts) {
    if (!text.locale.empty()) out.push_back(text.locale);
  }
  return out;
}

Result<const LocalText*> Template::text(std::string_view locale, std::span<const std::string> fallbacks) const {
  const auto find = [&](std::string_view wanted) {
    return std::find_if(texts.begin(), texts.end(), [&](const LocalText& t) { return t.locale == wanted; });
  };
  const auto every = find("");
  const std::vector<std::string> has = locales();
  auto chosen = locale_of_template({key, has, fallbacks}, locale);
  if (chosen) return &*find(*chosen);
  if (every != texts.end()) return &*every;
  return chosen.error();
}

void TemplateSet::add(Template entry) {
  const std::size_t place = templates_.size();
  if (entry.active && !entry.type.empty()) by_type_[{entry.tenant, entry.type}].push_back(place);
  by_key_[{entry.tenant, entry.key}].push_back(place);
  if (entry.id != 0) by_id_[entry.id] = place;
  const auto look_at = [&](const CompiledText& text) {
    entry.secret = std::max(entry.secret, postrider::secret_use(text));
    add_included(text, entry.includes);
  };
  for (const LocalText& text : entry.texts) {
    look_at(text.subject);
    look_at(text.body);
    look_at(text.html);
    for (const auto& [name, value] : text.provider_params) look_at(value);
  }
  templates_.push_back(std::move(entry));
}

Result<Done> TemplateSet::add_partial(std::string_view tenant, std::string_view name, std::string_view locale,
                                      std::string_view text) {
  Partials probe;
  POSTRIDER_TRY_DONE(probe.add(std::string{name}, text));
  const CompiledText& compiled = *probe.find(name);
  PartialText added{std::string{tenant}, std::string{name}, std::string{locale}, std::string{text}};
  added.secret = postrider::secret_use(compiled);
  add_included(compiled, added.includes);
  partial_texts_.push_back(std::move(added));
  std::vector<Name> askers;
  for (const PartialText& a : partial_texts_) {
    for (const PartialText& b : partial_texts_) askers.emplace_back(a.tenant, b.locale);
  }
  std::sort(askers.begin(), askers.end());
  askers.erase(std::unique(askers.begin(), askers.end()), askers.end());
  partials_.clear();
  for (const Name& asker : askers) partials_.emplace(asker, partials_for(asker));
  return Done{};
}

// Every (tenant, locale) that may ask gets the whole set: the common texts first, then what is closer to it.
TemplateSet::PartialSet TemplateSet::partials_for(const Name& asker) const {
  PartialSet set;
  std::map<std::string_view, const PartialText*> chosen;
  for (const std::string_view whose : {std::string_view{}, std::string_view{asker.first}}) {
    for (const std::string_view where : {std::string_view{}, std::string_view{asker.second}}) {
      for (const PartialText& p : partial_texts_) {
        if (p.tenant != whose || p.locale != where) continue;
        const auto added = set.texts.add(p.name, p.text);
        POSTRIDER_CHECK(added);  // It compiled when it came.
        set.secrets[p.name] = p.secret;
        chosen[p.name] = &p;
      }
    }
  }
  for (bool changed = true; changed;) {  // until no partial learns more from those that it includes
    changed = false;
    for (const auto& [name, partial] : chosen) {
      SecretUse& use = set.secrets.find(name)->second;
      const SecretUse inside = most_of(partial->includes, set.secrets);
      changed = changed || inside > use;
      use = std::max(use, inside);
    }
  }
  return set;
}

const TemplateSet::PartialSet* TemplateSet::find_partials(std::string_view tenant, std::string_view locale) const {
  if (partials_.empty()) return nullptr;
  for (const std::string_view who : {tenant, std::string_view{}}) {
    for (const std::string_view where : {locale, std::string_view{}}) {
      const auto found = partials_.find({std::string{who}, std::string{where}});
      if (found != partials_.end()) return &found->second;
    }
  }
  return nullptr;
}

const Partials* TemplateSet::partials(std::string_view tenant, std::string_view locale) const {
  const PartialSet* found = find_partials(tenant, locale);
  return found == nullptr ? nullptr : &found->texts;
}

SecretUse TemplateSet::secret_use(const Template& entry, std::string_view tenant, std::string_view locale) const {
  if (entry.includes.empty()) return entry.secret;
  const PartialSet* found = find_partials(tenant, locale);
  return found == nullptr ? entry.secret : std::max(entry.secret, most_of(entry.includes, found->secrets));
}

const Template* TemplateSet::better(const Template* a, const Template* b, const EventScopes& scopes) const {
  const auto rank = [&](const Template* t) {
    if (t == nullptr || !t->active) return -1;
    if (t->scope_type.empty()) return 0;
    for (std::size_t i = 0; i < scopes.size(); ++i) {
      if (scopes[i].first == t->scope_type && scopes[i].second == t->scope_id)
        return static_cast<int>(scopes.size() - i);
    }
    return -1;
  };
  const int of_a = rank(a);
  const int of_b = rank(b);
  if (of_a < 0 && of_b < 0) return nullptr;
  return of_b > of_a ? b : a;
}

std::vector<const Template*> TemplateSet::for_event(std::string_view tenant, std::string_view type,
                                                    const EventScopes& scopes) const {
  std::vector<const Template*> chosen;
  std::size_t of_tenant = 0;  // the common ones only fill channels that the tenant's own leave
  for (const std::string_view owner : {tenant, std::string_view{}}) {
    const auto found = by_type_.find({std::string{owner}, std::string{type}});
    if (found == by_type_.end()) continue;
    of_tenant = chosen.size();
    for (const std::size_t i : found->second) {
      const Template* candidate = &templates_[i];
      const auto same = std::find_if(chosen.begin(), chosen.end(),
                                     [&](const Template* t) { return t->channel == candidate->channel; });
      if (same == chosen.end()) {
        if (better(nullptr, candidate, scopes) != nullptr) chosen.push_back(candidate);
      } else if (same - chosen.begin() >= static_cast<std::ptrdiff_t>(of_tenant)) {
        *same = better(*same, candidate, scopes);
      }
    }
  }
  std::sort(chosen.begin(), chosen.end(), [](const Template* a, const Template* b) { return a->channel < b->channel; });
  return chosen;
}

const Template* TemplateSet::by_key(std::string_view tenant, std::string_view key, Channel channel,
                                    const EventScopes& scopes) const {
  for (const std::string_view owner : {tenant, std::string_view{}}) {
    const auto found = by_key_.find({std::string{owner}, std::string{key}});
    if (found == by_key_.end()) continue;
    const Template* best = nullptr;
    for (const std::size_t i : found->second) {
      if (templates_[i].channel == channel) best = better(best, &templates_[i], scopes);
    }
    if (best != nullptr) return best;
  }
  return nullptr;
}

const Template* TemplateSet::by_id(std::int64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &templates_[found->second];
}

}  // namespace postrider
