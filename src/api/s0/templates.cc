// /api/message-templates: the same templates, one language at a time, in the words of a booking system's portal.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/s0/words.h"
#include "api/template_requests.h"
#include "api/template_view.h"
#include "base/text.h"
#include "pipeline/template_sources.h"

namespace postrider::s0 {
namespace {

/// The text that a row shows: in the language asked for, else in the tenant's own, else the first.
const TextSource* text_shown(const TemplateSource& source, std::string_view language, const Tenant& tenant) {
  const auto in = [&](std::string_view locale) -> const TextSource* {
    const auto found = std::find_if(source.texts.begin(), source.texts.end(),
                                    [&](const TextSource& t) { return equal_ignoring_case(t.locale, locale); });
    return found == source.texts.end() ? nullptr : &*found;
  };
  if (!language.empty()) return in(language);
  if (const TextSource* own = in(tenant.writing.locale)) return own;
  return source.texts.empty() ? nullptr : &source.texts.front();
}

void write_row(JsonWriter& json, const StoredTemplate& entry, const TemplateSource& source, const TextSource* text) {
  json.member("id", entry.id).member("key", source.key).member("name", source.name).member("eventType", source.type);
  json.member("channel", source.channel ? word_of(*source.channel) : "Partial");
  json.member("language", text != nullptr ? text->locale : "").member("subject", text != nullptr ? text->subject : "");
  json.member("body", text != nullptr ? text->body : "").member("isActive", source.active);
  json.member("templateVersion", entry.version);
  json.member("scopeType", source.scope_type).member("scopeId", source.scope_id);
}

constexpr std::array<std::string_view, 12> kS0Fields{
    "id",       "eventType", "channel", "body", "subject", "isActive", "templateVersion",
    "language", "scopeType", "scopeId", "name", "key"};

/// What a body asks for: a template, and its text in one language.
struct Wanted {
  TemplateSource source = {};  // without texts
  std::string language = {};
  std::optional<std::string> body = {};
  std::optional<std::string> subject = {};
};

std::optional<ApiError> read_optional(JsonView root, std::string_view name, std::optional<std::string>& into) {
  if (!root.find(name)) return std::nullopt;
  into.emplace();
  return read_text(root, name, *into);
}

std::optional<ApiError> read_wanted(JsonView root, Wanted& wanted) {
  TemplateSource& source = wanted.source;
  std::string channel{source.channel ? word_of(*source.channel) : ""};
  struct Field {
    std::string_view name;
    std::string& place;
  };
  for (const Field& field :
       {Field{"eventType", source.type}, Field{"channel", channel}, Field{"name", source.name},
        Field{"key", source.key}, Field{"scopeType", source.scope_type}, Field{"language", wanted.language}}) {
    if (auto wrong = read_text(root, field.name, field.place)) return wrong;
  }
  // The portal's ids are numbers, and its events name them as such.
  const auto scope_id = root.find("scopeId");
  if (scope_id && scope_id->kind() == JsonKind::Number) {
    source.scope_id = scope_id->spoken();
  } else if (auto wrong = read_text(root, "scopeId", source.scope_id)) {
    return wrong;
  }
  if (auto wrong = read_flag(root, "isActive", source.active)) return wrong;
  if (auto wrong = read_optional(root, "body", wanted.body)) return wrong;
  if (auto wrong = read_optional(root, "subject", wanted.subject)) return wrong;
  source.channel = channel_of(channel);
  if (!source.channel) return wrong_template("channel", fmt::format("must be one of {}", kChannelWords));
  if (source.type.empty()) return wrong_template("eventType", "is missing");
  return std::nullopt;
}

void put_text(const Wanted& wanted, TemplateSource& source) {
  auto text = std::find_if(source.texts.begin(), source.texts.end(),
                           [&](const TextSource& t) { return t.locale == wanted.language; });
  if (text == source.texts.end()) text = source.texts.insert(source.texts.end(), {.locale = wanted.language});
  if (wanted.body) text->body = *wanted.body;
  if (wanted.subject) text->subject = *wanted.subject;
}

Answered row_answer(TemplateRequest& r, const TemplateRequest::Saved& saved, std::string_view language, int status) {
  const TemplateSource source = source_of(saved.entry, r.rules());
  JsonWriter json;
  json.begin_object();
  write_row(json, saved.entry, source, text_shown(source, language, r.writing_tenant(saved.entry.tenant)));
  write_findings(json, "warnings", saved.findings);
  json.end_object();
  return json_answer(json.take(), status);
}

/// The template of the same event, channel and scope that is there already, in whatever languages.
std::variant<std::optional<StoredTemplate>, ApiError> find_same(TemplateRequest& r, const TemplateSource& source) {
  TemplateFilter filter{.tenant = r.tenant(), .type = source.type, .channel = source.channel};
  for (;;) {
    const auto page = r.store().templates(filter);
    if (!page) return r.failed(page.error());
    for (const StoredTemplate& each : *page) {
      filter.after = each.id;
      const TemplateSource known = source_of(each, r.rules());
      const bool named = source.key.empty() || source.key == known.key;
      if (named && known.tenant == source.tenant && known.scope_type == source.scope_type &&
          known.scope_id == source.scope_id)
        return std::optional{each};
    }
    if (page->size() < filter.count_max) return std::optional<StoredTemplate>{};
  }
}

}  // namespace

Answered list_message_templates(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open({"tenant", "eventType", "channel", "isActive", "language"})) return std::move(*wrong);
  TemplateFilter filter{.tenant = r.tenant(), .type = r.query().text("eventType")};
  // The portal sends its parameters empty where nothing is chosen.
  if (const std::string channel = r.query().text("channel"); !channel.empty()) {
    filter.channel = channel_of(channel);
    if (!filter.channel) return wrong_parameter("channel", fmt::format("must be one of {}", kChannelWords));
  }
  if (const std::string active = r.query().text("isActive"); !active.empty()) {
    if (!equal_ignoring_case(active, "true") && !equal_ignoring_case(active, "false"))
      return wrong_parameter("isActive", "must be true or false");
    filter.active = equal_ignoring_case(active, "true");
  }
  const std::string language = r.query().text("language");
  JsonWriter json;
  json.begin_array();
  for (;;) {
    const auto page = r.store().templates(filter);
    if (!page) return r.failed(page.error());
    for (const StoredTemplate& each : *page) {
      filter.after = each.id;
      const TemplateSource source = source_of(each, parts.rules);
      const TextSource* text = text_shown(source, language, r.writing_tenant(each.tenant));
      if (!each.channel || (!language.empty() && text == nullptr)) continue;
      json.begin_object();
      write_row(json, each, source, text);
      json.end_object();
    }
    if (page->size() < filter.count_max) break;
  }
  json.end_array();
  return json_answer(json.take());
}

Answered get_message_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open_one({"tenant", "language"})) return std::move(*wrong);
  const auto found = r.find();
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  const auto& entry = std::get<StoredTemplate>(found);
  const TemplateSource source = source_of(entry, parts.rules);
  const TextSource* text = text_shown(source, r.query().text("language"), r.writing_tenant(entry.tenant));
  if (text == nullptr && r.query().find("language") != nullptr)
    return ApiError{.code = ApiErrorCode::NotFound, .message = "This template has no text in that language."};
  JsonWriter json;
  json.begin_object();
  write_row(json, entry, source, text);
  json.end_object();
  return json_answer(json.take());
}

Answered post_message_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open({"tenant"})) return std::move(*wrong);
  if (auto wrong = r.read_body(kS0Fields)) return std::move(*wrong);
  const Tenant& tenant = r.writing_tenant(r.tenant().value_or(0));
  Wanted wanted;
  if (r.tenant()) wanted.source.tenant = tenant.name;
  if (auto wrong = read_wanted(r.body(), wanted)) return std::move(*wrong);
  if (!wanted.body) return wrong_template("body", "is missing");
  if (wanted.language.empty()) wanted.language = tenant.writing.locale;
  auto same = find_same(r, wanted.source);
  if (const auto* wrong = std::get_if<ApiError>(&same)) return *wrong;
  auto& known = std::get<std::optional<StoredTemplate>>(same);
  // Another language of a template that is there is another row to the portal; here it is the same template.
  TemplateSource source = known ? source_of(*known, parts.rules) : wanted.source;
  const bool has = std::any_of(source.texts.begin(), source.texts.end(),
                               [&](const TextSource& t) { return t.locale == wanted.language; });
  if (has) return r.failed({ErrorCode::Conflict, {}});
  if (source.key.empty()) source.key = source.type;
  put_text(wanted, source);
  const auto saved = r.save(source, known ? known->id : 0);
  if (const auto* wrong = std::get_if<ApiError>(&saved)) return *wrong;
  return row_answer(r, std::get<TemplateRequest::Saved>(saved), wanted.language, 201);
}

Answered put_message_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open_one({"tenant"})) return std::move(*wrong);
  if (auto wrong = r.read_body(kS0Fields)) return std::move(*wrong);
  const auto found = r.find();
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  const auto& entry = std::get<StoredTemplate>(found);
  const TemplateSource before = source_of(entry, parts.rules);
  Wanted wanted{.source = before};
  if (auto wrong = read_wanted(r.body(), wanted)) return std::move(*wrong);
  const Tenant& tenant = r.writing_tenant(entry.tenant);
  if (wanted.language.empty()) {
    const TextSource* shown = text_shown(before, {}, tenant);
    wanted.language = shown != nullptr ? shown->locale : tenant.writing.locale;
  }
  TemplateSource source = wanted.source;
  put_text(wanted, source);
  const auto saved = r.change(before, source);
  if (const auto* wrong = std::get_if<ApiError>(&saved)) return *wrong;
  return row_answer(r, std::get<TemplateRequest::Saved>(saved), wanted.language, 200);
}

Answered delete_message_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open_one({"tenant"})) return std::move(*wrong);
  const auto removal = r.remove();
  if (const auto* wrong = std::get_if<ApiError>(&removal)) return *wrong;
  const bool gone = std::get<Removal>(removal) == Removal::Deleted;
  return json_answer(JsonWriter{}
                         .begin_object()
                         .member("id", r.id())
                         .member("isActive", false)
                         .member("deleted", gone)
                         .end_object()
                         .take());
}

}  // namespace postrider::s0
