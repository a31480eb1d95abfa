#include "store/template_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace postrider {
namespace {

auto key_fields(const StoredTemplate& t) { return std::tie(t.tenant, t.key, t.channel, t.scope_type, t.scope_id); }
auto event_fields(const StoredTemplate& t) { return std::tie(t.tenant, t.type, t.channel, t.scope_type, t.scope_id); }

std::string scope_of(const StoredTemplate& t) {
  return t.scope_type.empty() ? "" : fmt::format(" for {}/{}", t.scope_type, t.scope_id);
}

}  // namespace

Result<StoredTemplate> ordered(StoredTemplate wanted) {
  if (wanted.key.empty()) return Error{ErrorCode::Invalid, "a template needs a key"};
  const auto by_locale = [](const StoredText& a, const StoredText& b) { return a.locale < b.locale; };
  std::sort(wanted.texts.begin(), wanted.texts.end(), by_locale);
  const auto twice = std::adjacent_find(wanted.texts.begin(), wanted.texts.end(),
                                        [](const StoredText& a, const StoredText& b) { return a.locale == b.locale; });
  if (twice == wanted.texts.end()) return wanted;
  return Error{ErrorCode::Invalid, fmt::format("template {} has the locale \"{}\" twice", wanted.key, twice->locale)};
}

TemplateChange change_of(const StoredTemplate& stored, const StoredTemplate& wanted) {
  return {.content = stored.name != wanted.name || stored.type != wanted.type || stored.texts != wanted.texts,
          .active = stored.active != wanted.active};
}

StoredTemplate changed(StoredTemplate stored, const StoredTemplate& wanted, Instant now) {
  if (change_of(stored, wanted).content) {
    ++stored.version;
    stored.updated_at = now;
  }
  stored.name = wanted.name;
  stored.type = wanted.type;
  stored.active = wanted.active;
  stored.texts = wanted.texts;
  return stored;
}

bool is_chosen_by_type(const StoredTemplate& entry) {
  return entry.active && !entry.type.empty() && entry.channel.has_value();
}
bool is_for(const StoredTemplate& entry, std::optional<TenantId> tenant) {
  return !tenant || entry.tenant == 0 || entry.tenant == *tenant;
}
bool same_key(const StoredTemplate& a, const StoredTemplate& b) { return key_fields(a) == key_fields(b); }
bool same_event(const StoredTemplate& a, const StoredTemplate& b) {
  return is_chosen_by_type(a) && is_chosen_by_type(b) && event_fields(a) == event_fields(b);
}

Error key_taken(const StoredTemplate& wanted, std::int64_t by) {
  return {ErrorCode::Conflict, fmt::format("template {} already is {}{}", by, title_of(wanted), scope_of(wanted))};
}
Error event_taken(const StoredTemplate& wanted, std::int64_t by) {
  return {ErrorCode::Conflict, fmt::format("template {} already is the active one of {} on {}{}", by, wanted.type,
                                           to_text(*wanted.channel), scope_of(wanted))};
}
Error no_such_template(std::int64_t id) { return {ErrorCode::NotFound, fmt::format("there is no template {}", id)}; }
Error named_twice(std::int64_t id) {
  return {ErrorCode::Invalid, fmt::format("template {} is named twice in one change", id)};
}

std::string title_of(const StoredTemplate& entry) {
  return fmt::format("{} ({})", entry.key, entry.channel ? to_text(*entry.channel) : "partial");
}

}  // namespace postrider
