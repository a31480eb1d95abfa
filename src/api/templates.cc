// /api/v1/templates: what is written to people, kept in the store with every version.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "api/template_requests.h"
#include "api/template_view.h"
#include "base/text.h"
#include "core/context.h"
#include "pipeline/preview.h"
#include "pipeline/template_sources.h"

namespace postrider {
namespace {

HttpOut json_answer(std::string body, int status = 200) {
  HttpOut out;
  out.status = status;
  out.body = std::move(body);
  return out;
}

// ---- reading

std::optional<ApiError> read_params(JsonView object, TextSource& text) {
  const auto params = object.find("provider_params");
  if (!params || params->kind() == JsonKind::Null) return std::nullopt;
  if (!params->is_array()) return wrong_template("provider_params", "must be an array of {\"name\":…,\"text\":…}");
  for (const JsonView& each : params->items()) {
    const auto name = each.find("name");
    const auto value = each.find("text");
    if (!name || !value || !name->is_text() || !value->is_text() || each.size() != 2)
      return wrong_template("provider_params", "must be an array of {\"name\":…,\"text\":…}");
    text.provider_params.emplace_back(*name->text(), *value->text());
  }
  return std::nullopt;
}

std::variant<TextSource, ApiError> read_one_text(JsonView object) {
  if (!object.is_object()) return wrong_template("texts", "must be an array of objects");
  TextSource text;
  struct Field {
    std::string_view name;
    std::string& place;
  };
  const std::array fields{Field{"locale", text.locale}, Field{"subject", text.subject}, Field{"body", text.body},
                          Field{"html", text.html}, Field{"provider_template", text.provider_template}};
  for (const Field& field : fields) {
    if (auto wrong = read_text(object, field.name, field.place)) return std::move(*wrong);
  }
  if (auto wrong = read_params(object, text)) return std::move(*wrong);
  for (const auto& [name, value] : object.members()) {
    const auto is = [&, key = name](const Field& field) { return field.name == key; };
    if (name == "provider_params" || std::any_of(fields.begin(), fields.end(), is)) continue;
    return ApiError{.code = ApiErrorCode::UnknownField,
                    .message = fmt::format("\"{}\" is not a field of a text", excerpt(name, 60)),
                    .field = "texts." + excerpt(name, 60)};
  }
  return text;
}

std::optional<ApiError> read_texts(JsonView root, TemplateSource& source) {
  const auto texts = root.find("texts");
  if (!texts) return std::nullopt;
  if (!texts->is_array()) return wrong_template("texts", "must be an array, one text for each locale");
  source.texts.clear();
  for (const JsonView& each : texts->items()) {
    auto text = read_one_text(each);
    if (auto* wrong = std::get_if<ApiError>(&text)) return std::move(*wrong);
    source.texts.push_back(std::get<TextSource>(std::move(text)));
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 8> kTemplateFields{"key",        "name",     "type",   "channel",
                                                          "scope_type", "scope_id", "active", "texts"};
constexpr std::array<std::string_view, 5> kPreviewFields{"data", "message", "locale", "version", "timezone"};
constexpr std::array<std::string_view, 5> kUnsavedFields{"template", "data", "message", "locale", "timezone"};

/// What the body says, over what `source` is already.
std::optional<ApiError> read_source(JsonView root, TemplateSource& source) {
  const bool is_new = source.key.empty();
  std::string channel{is_new ? "" : source.channel ? to_text(*source.channel) : kPartialChannel};
  struct Field {
    std::string_view name;
    std::string& place;
  };
  for (const Field& field :
       {Field{"key", source.key}, Field{"name", source.name}, Field{"type", source.type},
        Field{"scope_type", source.scope_type}, Field{"scope_id", source.scope_id}, Field{"channel", channel}}) {
    if (auto wrong = read_text(root, field.name, field.place)) return wrong;
  }
  if (auto wrong = read_flag(root, "active", source.active)) return wrong;
  if (channel.empty()) return wrong_template("channel", "is missing");
  source.channel = parse_channel(channel);
  if (!source.channel && channel != kPartialChannel)
    return wrong_template("channel", "is not a known channel, nor \"partial\"");
  return read_texts(root, source);
}

Answered saved_answer(const TemplateRequest::Saved& saved, const Rules& rules, int status) {
  JsonWriter json;
  json.begin_object();
  write_template(json, saved.entry, rules);
  write_findings(json, "warnings", saved.findings);
  json.end_object();
  return json_answer(json.take(), status);
}

std::variant<TemplateFilter, ApiError> read_filter(const TemplateRequest& r) {
  TemplateFilter filter{.tenant = r.tenant(), .type = r.query().text("type"), .key = r.query().text("key")};
  if (const std::string* channel = r.query().find("channel")) {
    filter.channel = parse_channel(*channel);
    if (!filter.channel) return wrong_parameter("channel", "is not a known channel");
  }
  if (const std::string* active = r.query().find("active")) {
    if (*active != "true" && *active != "false") return wrong_parameter("active", "must be true or false");
    filter.active = *active == "true";
  }
  const auto limit = read_limit(r.query());
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  filter.count_max = std::get<std::size_t>(limit) + 1;
  const auto cursor = read_cursor(r.query());
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;
  filter.after = std::get<std::optional<RowId>>(cursor).value_or(0);
  return filter;
}

std::variant<int, ApiError> read_version(const Query& query) {
  const std::string* text = query.find("version");
  if (text == nullptr) return 0;
  int version = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), version);
  if (error != std::errc{} || end != text->data() + text->size() || version < 1)
    return wrong_parameter("version", "must be a number from 1");
  return version;
}

// ---- preview

/// What a preview is made with, as the body says it.
struct Sample {
  std::string data = "{}";
  std::string message = {};
  std::string locale = {};
  std::string timezone = {};
  int version = 0;
  // from the message
  std::string wished = {};
  std::optional<Contact> contact = {};
  std::vector<std::string> addresses = {};
};

std::optional<ApiError> read_sample(JsonView root, Sample& sample) {
  struct Field {
    std::string_view name;
    std::string& place;
  };
  for (const Field& field :
       {Field{"message", sample.message}, Field{"locale", sample.locale}, Field{"timezone", sample.timezone}}) {
    if (auto wrong = read_text(root, field.name, field.place)) return wrong;
  }
  if (const auto data = root.find("data")) {
    if (!data->is_object()) return wrong_template("data", "must be a JSON object");
    if (!sample.message.empty()) return wrong_template("data", "and message cannot both be given");
    sample.data = data->json();
  }
  if (const auto version = root.find("version")) {
    const auto number = version->integer();
    if (!number || *number < 1 || *number > 1'000'000'000) return wrong_template("version", "must be a number from 1");
    sample.version = static_cast<int>(*number);
  }
  return std::nullopt;
}

/// A past message's own data, as far as it is kept: its payload and its contact. Secrets and records are not.
std::optional<ApiError> use_message(TemplateRequest& r, Sample& sample) {
  const ApiError none{.code = ApiErrorCode::NotFound, .message = "There is no such message.", .field = "message"};
  const auto uuid = parse_uuid(sample.message);
  if (!uuid) return none;
  const auto view = r.store().message(r.tenant(), *uuid, {.count_max = kAddressesLearned});
  if (!view) return view.error().code == ErrorCode::NotFound ? none : r.failed(view.error());
  const Message& message = view->message;
  std::string contact;
  if (const std::string key = contact_of(*view); !key.empty()) {
    const ContactRef ref{message.tenant, key};
    const auto found = r.store().find_contacts({&ref, 1});
    if (!found) return r.failed(found.error());
    if (!found->empty()) {
      sample.contact = found->front();
      contact = contact_data(*sample.contact);
    }
  }
  sample.data = merged_data({.payload = message.payload, .contact = contact});
  sample.wished = message.locale;
  if (!message.recipient.empty()) sample.addresses.push_back(message.recipient);
  for (const DeliveryView& each : view->deliveries) sample.addresses.push_back(each.delivery.recipient);
  return std::nullopt;
}

Answered preview_answer(TemplateRequest& r, const ApiRequest& request, const StoredTemplate& entry, Sample& sample) {
  const Zones* zones = r.rules().zones;
  if (!sample.timezone.empty() && zones != nullptr && !zones->knows(sample.timezone))
    return wrong_template("timezone", "is not a known time zone such as Europe/Berlin");
  if (!sample.message.empty()) {
    if (auto wrong = use_message(r, sample)) return std::move(*wrong);
  }
  const auto stored = all_templates(r.store(), r.tenant());
  if (!stored) return r.failed(stored.error());
  const TemplateSet partials = partials_among(*stored, r.rules());
  const Tenant& tenant = r.writing_tenant(entry.tenant);
  const auto made = preview(entry, {.rules = r.rules(),
                                    .tenant = tenant,
                                    .partials = partials,
                                    .data = sample.data,
                                    .locale = sample.locale,
                                    .wished = sample.wished,
                                    .timezone = sample.timezone,
                                    .contact = sample.contact ? &*sample.contact : nullptr});
  if (!made)
    return ApiError{.code = ApiErrorCode::CannotRender,
                    .message = fmt::format("It cannot be written: {}.", printable(made.error().text))};
  // Whoever may not see addresses in a message sees none in what is made of it. Sample data is the caller's own.
  const bool plain = sample.message.empty() || request.caller.sees_addresses();
  Mask mask{plain ? Addresses::Plain : Addresses::Masked};
  for (const std::string& address : sample.addresses) mask.learn(address);
  JsonWriter json;
  json.begin_object();
  if (entry.id != 0) json.member("id", entry.id).member("version", entry.version);
  write_preview(json, *made, mask);
  json.end_object();
  return json_answer(json.take());
}

}  // namespace

Answered list_templates(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open({"tenant", "type", "channel", "active", "key", "limit", "cursor"})) return std::move(*wrong);
  const auto filter = read_filter(r);
  if (const auto* wrong = std::get_if<ApiError>(&filter)) return *wrong;
  const TemplateFilter& wanted = std::get<TemplateFilter>(filter);
  auto found = r.store().templates(wanted);
  if (!found) return r.failed(found.error());
  std::string next;
  if (found->size() == wanted.count_max) {
    found->pop_back();
    next = format_cursor(found->back().id);
  }
  JsonWriter json;
  json.begin_object().key("templates").begin_array();
  for (const StoredTemplate& each : *found) {
    json.begin_object();
    write_template(json, each, parts.rules);
    json.end_object();
  }
  json.end_array().member("next", next.empty() ? std::nullopt : std::optional{next}).end_object();
  return json_answer(json.take());
}

Answered get_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open_one({"tenant", "version"})) return std::move(*wrong);
  const auto version = read_version(r.query());
  if (const auto* wrong = std::get_if<ApiError>(&version)) return *wrong;
  const auto found = r.find(std::get<int>(version));
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  JsonWriter json;
  json.begin_object();
  write_template(json, std::get<StoredTemplate>(found), parts.rules);
  json.end_object();
  return json_answer(json.take());
}

Answered post_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open({"tenant"})) return std::move(*wrong);
  if (auto wrong = r.read_body(kTemplateFields)) return std::move(*wrong);
  TemplateSource source;
  if (r.tenant()) source.tenant = r.writing_tenant(*r.tenant()).name;
  if (auto wrong = read_source(r.body(), source)) return std::move(*wrong);
  const auto saved = r.save(source, 0);
  if (const auto* wrong = std::get_if<ApiError>(&saved)) return *wrong;
  return saved_answer(std::get<TemplateRequest::Saved>(saved), parts.rules, 201);
}

Answered put_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open_one({"tenant"})) return std::move(*wrong);
  if (auto wrong = r.read_body(kTemplateFields)) return std::move(*wrong);
  const auto found = r.find();
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  const TemplateSource before = source_of(std::get<StoredTemplate>(found), parts.rules);
  TemplateSource source = before;
  if (auto wrong = read_source(r.body(), source)) return std::move(*wrong);
  const auto saved = r.change(before, source);
  if (const auto* wrong = std::get_if<ApiError>(&saved)) return *wrong;
  return saved_answer(std::get<TemplateRequest::Saved>(saved), parts.rules, 200);
}

Answered delete_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open_one({"tenant"})) return std::move(*wrong);
  const auto removal = r.remove();
  if (const auto* wrong = std::get_if<ApiError>(&removal)) return *wrong;
  const bool gone = std::get<Removal>(removal) == Removal::Deleted;
  return json_answer(JsonWriter{}
                         .begin_object()
                         .member("id", r.id())
                         .member("result", gone ? "deleted" : "deactivated")
                         .end_object()
                         .take());
}

Answered preview_template(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open_one({"tenant"})) return std::move(*wrong);
  if (auto wrong = r.read_body(kPreviewFields)) return std::move(*wrong);
  Sample sample;
  if (auto wrong = read_sample(r.body(), sample)) return std::move(*wrong);
  const auto found = r.find(sample.version);
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  return preview_answer(r, request, std::get<StoredTemplate>(found), sample);
}

Answered preview_unsaved(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  TemplateRequest r{parts, worker, request};
  if (auto wrong = r.open({"tenant"})) return std::move(*wrong);
  if (auto wrong = r.read_body(kUnsavedFields)) return std::move(*wrong);
  const JsonView root = r.body();
  const auto given = root.find("template");
  if (!given || !given->is_object()) return wrong_template("template", "must be an object: channel, texts, …");
  for (const auto& [name, value] : given->members()) {
    if (std::find(kTemplateFields.begin(), kTemplateFields.end(), name) == kTemplateFields.end())
      return ApiError{.code = ApiErrorCode::UnknownField,
                      .message = fmt::format("\"{}\" is not a field of a template", excerpt(name, 60)),
                      .field = "template." + excerpt(name, 60)};
  }
  TemplateSource source;
  if (auto wrong = read_source(*given, source)) return std::move(*wrong);
  if (source.key.empty()) source.key = "preview";
  if (const auto problem = shape_problem(source)) return wrong_template(problem->field, problem->what);
  Sample sample;
  if (auto wrong = read_sample(root, sample)) return std::move(*wrong);
  return preview_answer(r, request, stored_of(source, r.tenant().value_or(0)), sample);
}

}  // namespace postrider
