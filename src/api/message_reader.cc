#include "api/message_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/secret_reader.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

enum class Takes : std::uint8_t { Text, TextOrNumber, Object, AnyJson };
struct Field {
  std::string_view name;
  std::string OutboxRow::*place;
  Takes takes = Takes::Text;
};
constexpr std::array kMessageFields{
    Field{"id", &OutboxRow::id},
    Field{"tenant", &OutboxRow::tenant},
    Field{"topic", &OutboxRow::topic},
    Field{"type", &OutboxRow::type},
    Field{"entity_id", &OutboxRow::entity_id, Takes::TextOrNumber},
    Field{"version", &OutboxRow::version, Takes::TextOrNumber},
    Field{"idempotency_key", &OutboxRow::idempotency_key},
    Field{"payload", &OutboxRow::payload, Takes::Object},
    Field{"sealed", &OutboxRow::sealed},
    Field{"lane", &OutboxRow::lane},
    Field{"category", &OutboxRow::category},
    Field{"locale", &OutboxRow::locale},
    Field{"origin", &OutboxRow::origin},
    Field{"correlation_id", &OutboxRow::correlation_id},
    Field{"traceparent", &OutboxRow::traceparent},
    Field{"schema_version", &OutboxRow::schema_version, Takes::TextOrNumber},
    Field{"occurred_at", &OutboxRow::occurred_at},
    Field{"due_at", &OutboxRow::due_at},
    Field{"expires_at", &OutboxRow::expires_at},
    Field{"source_site", &OutboxRow::source_site},
    Field{"source_instance", &OutboxRow::source_instance},
    Field{"source_script", &OutboxRow::source_script},
    Field{"site_enqueued_at", &OutboxRow::site_enqueued_at},
    Field{"type_data", &OutboxRow::type_data, Takes::AnyJson},
    Field{"channel", &OutboxRow::channel},
    Field{"recipient", &OutboxRow::recipient},
    Field{"contact", &OutboxRow::contact},
    Field{"list", &OutboxRow::list},
    Field{"subject", &OutboxRow::subject},
    Field{"body", &OutboxRow::body},
    Field{"template", &OutboxRow::template_key},
};
// The same four, gathered under "source".
constexpr std::array kSourceFields{
    Field{"site", &OutboxRow::source_site},
    Field{"instance", &OutboxRow::source_instance},
    Field{"script", &OutboxRow::source_script},
    Field{"site_enqueued_at", &OutboxRow::site_enqueued_at},
};

ApiError wrong_field(std::string_view field, std::string_view what) {
  return {.code = ApiErrorCode::InvalidMessage,
          .message = fmt::format("{} {}", field, what),
          .field = std::string{field},
          .reason = std::string{code_of(Reason::InvalidField)}};
}
ApiError unknown_field(std::string_view field) {
  return {.code = ApiErrorCode::UnknownField,
          .message = fmt::format("\"{}\" is not a field of a message", excerpt(field, 60)),
          .field = excerpt(field, 60)};
}

std::variant<std::string, ApiError> read_value(const Field& field, JsonView value) {
  switch (field.takes) {
    case Takes::Object:
      if (value.is_object()) return value.json();
      return ApiError{.code = ApiErrorCode::InvalidMessage,
                      .message = fmt::format("{} is not a JSON object", field.name),
                      .field = std::string{field.name},
                      .reason = std::string{code_of(Reason::InvalidPayload)}};
    case Takes::AnyJson: return value.kind() == JsonKind::Null ? "" : value.json();
    case Takes::TextOrNumber:
      if (const auto number = value.integer()) return std::to_string(*number);
      if (value.kind() == JsonKind::Number) return wrong_field(field.name, "is not a whole number that fits 64 bits");
      break;
    case Takes::Text: break;
  }
  if (value.kind() == JsonKind::Null) return "";  // the same as leaving it out
  if (const auto text = value.text()) return std::string{*text};
  return wrong_field(field.name, field.takes == Takes::TextOrNumber ? "must be a text or a number" : "must be a text");
}

template <std::size_t N>
std::optional<ApiError> read_member(const std::array<Field, N>& fields, std::string_view name, JsonView value,
                                    OutboxRow& row) {
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
  if (field == fields.end()) return unknown_field(name);
  auto text = read_value(*field, value);
  if (auto* wrong = std::get_if<ApiError>(&text)) return std::move(*wrong);
  row.*field->place = std::get<std::string>(std::move(text));
  return std::nullopt;
}

std::optional<ApiError> read_source(JsonView source, OutboxRow& row) {
  if (source.kind() == JsonKind::Null) return std::nullopt;
  if (!source.is_object())
    return wrong_field("source", "must be an object of site, instance, script, site_enqueued_at");
  for (const Field& field : kSourceFields) {
    if (!(row.*field.place).empty())
      return wrong_field("source", "is given twice: as an object and as source_… fields");
  }
  for (const auto& [name, value] : source.members()) {
    if (auto wrong = read_member(kSourceFields, name, value, row)) {
      wrong->field = "source." + wrong->field;
      return wrong;
    }
  }
  return std::nullopt;
}

std::optional<ApiError> read_secret(const std::optional<JsonView>& secret, SecretSealer* sealer, OutboxRow& row) {
  if (!secret) return row.sealed.empty() ? std::nullopt : check_sealed(row.sealed);
  if (!row.sealed.empty()) return wrong_field("secret", "and sealed are both given; only one of them can be");
  auto box = seal_secret(*secret, sealer);
  if (auto* wrong = std::get_if<ApiError>(&box)) return std::move(*wrong);
  row.sealed = std::get<std::string>(std::move(box));
  return std::nullopt;
}

}  // namespace

std::string media_type(const HttpIn& in) {
  const std::string* value = in.header("content-type");
  if (value == nullptr) return "";
  return lower(trim(std::string_view{*value}.substr(0, value->find(';'))));
}

bool says_utf8(const HttpIn& in) {
  const std::string* value = in.header("content-type");
  if (value == nullptr) return true;
  for (const std::string_view part : split(*value, ';')) {
    const std::string parameter = lower(trim(part));
    if (!parameter.starts_with("charset=")) continue;
    return parameter == "charset=utf-8" || parameter == "charset=\"utf-8\"" || parameter == "charset=utf8";
  }
  return true;
}

std::variant<JsonDocument, ApiError> read_body(std::string_view body) {
  if (body.size() > kRequestBodyBytesMax) {
    return ApiError{
        .code = ApiErrorCode::BodyTooLarge,
        .message = fmt::format("The body is larger than {} bytes. Send it in several requests.", kRequestBodyBytesMax)};
  }
  // A payload may itself be kJsonDepthMax deep; around it are the array and the message.
  auto document = JsonDocument::parse(body, {.bytes_max = kRequestBodyBytesMax, .depth_max = kJsonDepthMax + 2});
  if (document) return std::move(*document);
  return ApiError{.code = ApiErrorCode::InvalidJson,
                  .message = fmt::format("The body is not JSON that can be read: {}.", document.error().text)};
}

std::variant<OutboxRow, ApiError> read_message(JsonView json, SecretSealer* sealer) {
  if (!json.is_object()) {
    return ApiError{.code = ApiErrorCode::InvalidMessage, .message = "is not a JSON object"};
  }
  OutboxRow row;
  row.tenant.clear();
  std::optional<JsonView> source;
  std::optional<JsonView> secret;
  for (const auto& [name, value] : json.members()) {
    if (name == "source") {
      source = value;  // last, so that it is seen whether the flat fields were given too
    } else if (name == "secret") {
      if (value.kind() != JsonKind::Null) secret = value;
    } else if (auto wrong = read_member(kMessageFields, name, value, row)) {
      return std::move(*wrong);
    }
  }
  if (source) {
    if (auto wrong = read_source(*source, row)) return std::move(*wrong);
  }
  if (auto wrong = read_secret(secret, sealer, row)) return std::move(*wrong);
  // Elsewhere a wrong address is the delivery's matter. A control byte in one is an attack or a bug of the caller, who
  // is still there to hear it.
  if (has_control(row.recipient)) return wrong_field("recipient", "contains a control character");
  return row;
}

std::variant<std::vector<OutboxRow>, ApiError> read_messages(JsonView root, SecretSealer* sealer) {
  std::vector<JsonView> items = root.items();
  if (!root.is_array()) items.push_back(root);
  if (items.empty()) {
    return ApiError{.code = ApiErrorCode::InvalidMessage,
                    .message = fmt::format("The array is empty. Send 1 to {} messages.", kMessagesPerRequestMax)};
  }
  if (items.size() > kMessagesPerRequestMax) {
    return ApiError{.code = ApiErrorCode::TooManyMessages,
                    .message = fmt::format("{} messages in one request; {} are allowed. Nothing was stored.",
                                           items.size(), kMessagesPerRequestMax)};
  }
  std::vector<OutboxRow> rows;
  rows.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto read = read_message(items[i], sealer);
    if (auto* wrong = std::get_if<ApiError>(&read)) {
      wrong->index = i;
      wrong->message = fmt::format("Message {}: {}. Nothing was stored.", i, wrong->message);
      return std::move(*wrong);
    }
    rows.push_back(std::get<OutboxRow>(std::move(read)));
  }
  return rows;
}

}  // namespace postrider
