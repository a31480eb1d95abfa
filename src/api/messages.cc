// POST /api/v1/messages: one or many, all or nothing, answered when durable.
#include <fmt/format.h>

#include <algorithm>

#include "api/message_reader.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/secret_reader.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/wiped_json.h"
#include "core/language.h"
#include "pipeline/accept.h"

namespace postrider {
namespace {

ApiError refused(const RefusedMessage& refused) {
  const Refusal& refusal = refused.refusal;
  ApiErrorCode code = ApiErrorCode::InvalidMessage;
  if (refusal.reason == Reason::Expired) code = ApiErrorCode::Expired;
  if (refusal.reason == Reason::UnknownTenant) code = ApiErrorCode::UnknownTenant;
  return {
      .code = code,
      .message = fmt::format("Message {}: {} {}. Nothing was stored.", refused.index, refusal.field, refusal.detail),
      .index = refused.index,
      .field = refusal.field,
      .reason = std::string{code_of(refusal.reason)}};
}

void write_admitted(JsonWriter& json, const Admitted& admitted) {
  json.begin_object();
  json.member("id", format_uuid(admitted.first));
  json.member("state", "accepted");
  json.member("duplicate", admitted.verdict == Admission::Duplicate);
  json.end_object();
}

HttpOut admitted_answer(const std::vector<Admitted>& admitted, AnswerForm form) {
  const auto is = [](Admission verdict) { return [verdict](const Admitted& a) { return a.verdict == verdict; }; };
  const auto reused = std::find_if(admitted.begin(), admitted.end(), is(Admission::KeyReused));
  if (reused != admitted.end()) {
    const auto index = static_cast<std::size_t>(reused - admitted.begin());
    return to_answer({.code = ApiErrorCode::KeyReused,
                      .message = fmt::format("Message {}: its idempotency key (or id) was used before with another "
                                             "content. Use a new key for a new fact. Nothing was stored.",
                                             index),
                      .index = index,
                      .id = format_uuid(reused->first)});
  }
  HttpOut out;
  out.status = std::any_of(admitted.begin(), admitted.end(), is(Admission::New)) || admitted.empty() ? 202 : 200;
  JsonWriter json;
  if (form == AnswerForm::One) {
    write_admitted(json, admitted.front());
  } else {
    json.begin_object().key("messages").begin_array();
    for (const Admitted& one : admitted) write_admitted(json, one);
    json.end_array().end_object();
  }
  out.body = json.take();
  return out;
}

// The tenant of a message: its own, else that of the request, else the key's, else "default" (ops only).
std::optional<ApiError> give_tenants(const ApiParts& parts, const ApiRequest& request, std::vector<OutboxRow>& rows) {
  const auto query = Query::read(request.in.query, {"tenant"});
  if (const auto* wrong = std::get_if<ApiError>(&query)) return *wrong;
  const auto about = tenant_of(parts, request.caller, std::get<Query>(query).find("tenant"));
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  const auto& id = std::get<std::optional<TenantId>>(about);
  const Tenant* tenant = id ? parts.rules.tenant(*id) : nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].tenant.empty()) {
      rows[i].tenant = tenant != nullptr ? tenant->name : id ? "" : "default";
    } else if (id && (tenant == nullptr || rows[i].tenant != tenant->name)) {
      return ApiError{.code = ApiErrorCode::TenantForbidden,
                      .message = fmt::format("Message {}: it names another tenant than the key or the request. Leave "
                                             "the tenant out, or use a key of that tenant. Nothing was stored.",
                                             i),
                      .index = i,
                      .field = "tenant"};
    }
  }
  return std::nullopt;
}

// Quotes around a key are the notation of structured headers, not part of the key.
std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

ApiError wrong_header(std::string_view name, std::string_view what) {
  return {.code = ApiErrorCode::InvalidHeader,
          .message = fmt::format("The header {} {}. Nothing was stored.", name, what),
          .field = std::string{name}};
}

std::optional<ApiError> use_key(const HttpIn& in, std::vector<OutboxRow>& rows, AnswerForm form) {
  if (const std::string* header = in.header("idempotency-key")) {
    if (form == AnswerForm::List) {
      return wrong_header("Idempotency-Key",
                          "is for a single message; give each message of an array its own "
                          "idempotency_key");
    }
    const std::string_view key = without_quotes(trim(*header));
    OutboxRow& row = rows.front();
    if (key.empty()) return wrong_header("Idempotency-Key", "is empty");
    if (!row.idempotency_key.empty() && row.idempotency_key != key) {
      return wrong_header("Idempotency-Key", "and the message's idempotency_key are not the same");
    }
    row.idempotency_key = key;
  }
  return std::nullopt;
}

// "00-", 32 hex digits, "-", 16, "-", 2. A malformed one is ignored, as its specification asks.
bool is_traceparent(std::string_view text) {
  constexpr std::string_view kForm = "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
  return text.size() == kForm.size() && std::equal(text.begin(), text.end(), kForm.begin(), [](char c, char form) {
           return form == 'h' ? hex_value(c) >= 0 : c == form;
         });
}

// After the messages were judged: a client that repeats a request starts a new span, which must not make it another
// message under the same key.
void use_trace(const HttpIn& in, IntakeGroup& group) {
  const std::string* header = in.header("traceparent");
  if (header == nullptr || !is_traceparent(trim(*header))) return;
  for (NewMessage& message : group) {
    if (message.row.traceparent.empty()) message.row.traceparent = trim(*header);
  }
}

// After the messages were judged, too: what a browser asks for is no part of the fact. A tenant that names no locales
// has none to look it up in.
void use_language(const ApiParts& parts, const HttpIn& in, IntakeGroup& group) {
  const std::string* header = in.header("accept-language");
  if (header == nullptr) return;
  const std::string wished = fmt::format("{}", fmt::join(acceptable_ranges(*header), ", "));
  if (wished.empty() || wished.size() > kTextFieldBytesMax) return;
  for (NewMessage& message : group) {
    const Tenant* tenant = parts.rules.tenant(message.tenant);
    if (tenant == nullptr || !message.row.locale.empty()) continue;
    const Writing& writing = tenant->writing;
    if (writing.locales.empty() && writing.matching != LocaleMatching::Exact) continue;
    if (message.candidate.repeats_nothing()) message.candidate.body = body_hash(message.row);
    message.says_more = true;
    message.row.locale = wished;
  }
}

}  // namespace

void accept_rows(const ApiParts& parts, const ApiRequest& request, std::vector<OutboxRow> rows, AnswerForm form,
                 const Respond& respond) {
  if (const auto wrong = give_tenants(parts, request, rows)) return respond(to_answer(*wrong));
  Prng random{request.draw};
  auto prepared = prepare(std::move(rows), parts.rules, parts.clock.now(), random);
  if (const auto* wrong = std::get_if<RefusedMessage>(&prepared)) return respond(to_answer(refused(*wrong)));
  auto group = std::get<IntakeGroup>(std::move(prepared));
  if (group.empty()) return respond(admitted_answer({}, form));  // an empty batch of events is allowed
  use_trace(request.in, group);
  use_language(parts, request.in, group);
  parts.accept(std::move(group), [respond, form](const Result<std::vector<Admitted>>& admitted) {
    respond(admitted ? admitted_answer(*admitted, form) : to_answer(from_store(admitted.error())));
  });
}

void post_messages(const ApiParts& parts, const ApiRequest& request, const Respond& respond) {
  if (media_type(request.in) != "application/json" || !says_utf8(request.in)) {
    return respond(to_answer({.code = ApiErrorCode::UnsupportedMediaType,
                              .message = "Send JSON in UTF-8 with the header \"Content-Type: application/json\"."}));
  }
  std::optional<WipedJson> wiped;
  if (may_hold_secret(request.in.body)) wiped.emplace();
  const auto body = read_body(request.in.body);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return respond(to_answer(*wrong));
  const JsonView root = std::get<JsonDocument>(body).root();
  auto read = read_messages(root, parts.sealer);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return respond(to_answer(*wrong));
  auto rows = std::get<std::vector<OutboxRow>>(std::move(read));
  const AnswerForm form = root.is_array() ? AnswerForm::List : AnswerForm::One;
  if (const auto wrong = use_key(request.in, rows, form)) return respond(to_answer(*wrong));
  accept_rows(parts, request, std::move(rows), form, respond);
}

}  // namespace postrider
