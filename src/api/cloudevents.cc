// POST /api/v1/cloudevents: CloudEvents 1.0 over HTTP in its three modes, each event becoming one message.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/message_reader.h"
#include "api/query.h"
#include "api/resources.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider {
namespace {

constexpr std::string_view kBatchType = "application/cloudevents-batch";
constexpr std::string_view kStructuredType = "application/cloudevents";
constexpr std::string_view kHeaderPrefix = "ce-";

struct Event {
  std::map<std::string, std::string, std::less<>> attributes = {};       // as text
  std::map<std::string, std::string, std::less<>> attributes_json = {};  // the same, as JSON values
  std::string payload = "{}";
};
using ReadEvent = std::variant<Event, ApiError>;
using ReadEvents = std::variant<std::vector<OutboxRow>, ApiError>;

ApiError wrong_event(std::string_view field, std::string_view what) {
  return {.code = ApiErrorCode::InvalidEvent,
          .message = fmt::format("{} {}", excerpt(field, 60), what),
          .field = excerpt(field, 60)};
}

bool is_json_type(std::string_view type) {
  const std::string bare = lower(trim(type.substr(0, type.find(';'))));
  return bare.ends_with("/json") || bare.ends_with("+json");
}

bool is_attribute_name(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::string wrapped(std::string_view key, std::string_view json) { return fmt::format("{{\"{}\":{}}}", key, json); }
std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}
// A payload is an object; anything else goes into one.
std::string payload_of(JsonView data) { return data.is_object() ? data.json() : wrapped("data", data.json()); }

std::optional<ApiError> add_attribute(Event& event, std::string_view name, std::string text, std::string json) {
  if (!is_attribute_name(name)) {
    return wrong_event(name, "is not an attribute's name: those have lower-case letters and digits only");
  }
  event.attributes_json.emplace(name, std::move(json));
  event.attributes.emplace(name, std::move(text));
  return std::nullopt;
}

std::optional<ApiError> read_data(JsonView json, Event& event) {
  const auto data = json.find("data");
  const auto base64 = json.find("data_base64");
  if (data && base64) return wrong_event("data", "and data_base64 exclude each other");
  if (data) event.payload = payload_of(*data);
  if (!base64) return std::nullopt;
  const auto text = base64->text();
  if (!text || !from_base64(*text)) return wrong_event("data_base64", "is not base64 text");
  event.payload = wrapped("data_base64", quoted(*text));
  return std::nullopt;
}

ReadEvent read_structured(JsonView json) {
  if (!json.is_object()) return wrong_event("The event", "is not a JSON object");
  Event event;
  for (const auto& [name, value] : json.members()) {
    if (name == "data" || name == "data_base64" || value.kind() == JsonKind::Null) continue;
    if (value.is_object() || value.is_array()) {
      return wrong_event(name, "must be a text, a whole number, true or false");
    }
    if (value.kind() == JsonKind::Number && !value.integer()) return wrong_event(name, "is not a whole number");
    if (auto wrong = add_attribute(event, name, value.spoken(), value.json())) return std::move(*wrong);
  }
  if (auto wrong = read_data(json, event)) return std::move(*wrong);
  return event;
}

// Header values are percent-encoded UTF-8, sometimes in quotes.
std::optional<std::string> header_text(std::string_view value) {
  value = trim(value);
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return percent_decode(value, Plus::Stays);
  std::string plain;
  for (std::size_t i = 1; i + 1 < value.size(); ++i) {
    if (value[i] == '\\' && i + 2 < value.size()) ++i;
    plain += value[i];
  }
  return percent_decode(plain, Plus::Stays);
}

std::optional<ApiError> read_binary_data(const HttpIn& in, Event& event) {
  const std::string* type = in.header("content-type");
  if (type != nullptr) {
    if (auto wrong = add_attribute(event, "datacontenttype", *type, quoted(printable(*type)))) return wrong;
  }
  if (in.body.empty()) return std::nullopt;
  if (type != nullptr && is_json_type(*type)) {
    const auto body = read_body(in.body);
    if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
    event.payload = payload_of(std::get<JsonDocument>(body).root());
  } else if (type != nullptr && media_type(in).starts_with("text/") && says_utf8(in) && is_utf8(in.body)) {
    event.payload = wrapped("data", quoted(in.body));
  } else {
    event.payload = wrapped("data_base64", quoted(to_base64(in.body)));
  }
  return std::nullopt;
}

ReadEvent read_binary(const HttpIn& in) {
  Event event;
  for (const auto& [name, value] : in.headers) {
    if (!name.starts_with(kHeaderPrefix)) continue;
    const std::string_view attribute = std::string_view{name}.substr(kHeaderPrefix.size());
    auto text = header_text(value);
    if (!text) return wrong_event(name, "is not percent-encoded UTF-8");
    if (event.attributes.contains(attribute)) return wrong_event(name, "is given twice");
    if (attribute == "datacontenttype") return wrong_event(name, "must not be sent: the header Content-Type says it");
    std::string json = quoted(*text);
    if (auto wrong = add_attribute(event, attribute, std::move(*text), std::move(json))) return std::move(*wrong);
  }
  if (auto wrong = read_binary_data(in, event)) return std::move(*wrong);
  return event;
}

// The source may contain colons, so those of the id are escaped: two events never share a key by accident.
std::string event_key(std::string_view source, std::string_view id) {
  std::string key = fmt::format("ce:{}:", source);
  for (const char c : id) {
    if (c == ':' || c == '%') {
      key += c == ':' ? "%3A" : "%25";
    } else {
      key += c;
    }
  }
  return key;
}

std::variant<OutboxRow, ApiError> to_row(const Event& event) {
  const auto attribute = [&](std::string_view name) {
    const auto at = event.attributes.find(name);
    return at == event.attributes.end() ? std::string{} : at->second;
  };
  for (const std::string_view name : {"specversion", "id", "source", "type"}) {
    const auto at = event.attributes_json.find(name);
    if (at == event.attributes_json.end() || attribute(name).empty()) return wrong_event(name, "is required");
    if (!at->second.starts_with('"')) return wrong_event(name, "must be a text");
  }
  if (attribute("specversion") != "1.0") return wrong_event("specversion", "must be 1.0");
  OutboxRow row;
  row.tenant.clear();
  row.type = attribute("type");
  row.entity_id = attribute("subject");
  row.occurred_at = attribute("time");
  row.traceparent = attribute("traceparent");
  row.idempotency_key = event_key(attribute("source"), attribute("id"));
  row.payload = event.payload;
  JsonWriter rest;  // everything the message has no field of its own for, and where it came from
  rest.begin_object();
  for (const auto& [name, json] : event.attributes_json) {
    if (name != "type" && name != "subject" && name != "time" && name != "traceparent") rest.key(name).raw(json);
  }
  row.type_data = rest.end_object().take();
  return row;
}

ReadEvents to_rows(const std::vector<ReadEvent>& events) {
  std::vector<OutboxRow> rows;
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto row = std::holds_alternative<Event>(events[i])
                   ? to_row(std::get<Event>(events[i]))
                   : std::variant<OutboxRow, ApiError>{std::get<ApiError>(events[i])};
    if (auto* wrong = std::get_if<ApiError>(&row)) {
      if (wrong->code == ApiErrorCode::InvalidEvent) {
        wrong->message = fmt::format("Event {}: {}. Nothing was stored.", i, wrong->message);
        wrong->index = i;
      }
      return std::move(*wrong);
    }
    rows.push_back(std::get<OutboxRow>(std::move(row)));
  }
  return rows;
}

ReadEvents read_json_form(const HttpIn& in, AnswerForm form) {
  const auto body = read_body(in.body);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const JsonView root = std::get<JsonDocument>(body).root();
  if (form == AnswerForm::One) return to_rows({read_structured(root)});
  if (!root.is_array()) return wrong_event("The batch", "is not a JSON array");
  const std::vector<JsonView> items = root.items();
  if (items.size() > kMessagesPerRequestMax) {
    return ApiError{.code = ApiErrorCode::TooManyMessages,
                    .message = fmt::format("{} events in one batch; {} are allowed. Nothing was stored.", items.size(),
                                           kMessagesPerRequestMax)};
  }
  std::vector<ReadEvent> events;
  events.reserve(items.size());
  for (const JsonView item : items) events.push_back(read_structured(item));
  return to_rows(events);
}

bool has_event_headers(const HttpIn& in) {
  return std::any_of(in.headers.begin(), in.headers.end(),
                     [](const Header& h) { return h.first.starts_with(kHeaderPrefix); });
}

}  // namespace

void post_cloudevents(const ApiParts& parts, const ApiRequest& request, const Respond& respond) {
  const HttpIn& in = request.in;
  const std::string type = media_type(in);
  // The batch's prefix is longer and begins alike, so it is asked for first.
  const bool batch = type.starts_with(kBatchType);
  const bool structured = !batch && type.starts_with(kStructuredType);
  const bool readable = batch        ? type == "application/cloudevents-batch+json"
                        : structured ? type == "application/cloudevents+json"
                                     : has_event_headers(in);
  if (!readable || ((batch || structured) && !says_utf8(in))) {
    return respond(
        to_answer({.code = ApiErrorCode::UnsupportedMediaType,
                   .message = "Send application/cloudevents+json, application/cloudevents-batch+json (both in "
                              "UTF-8), or any content with the event's attributes in ce- headers."}));
  }
  const AnswerForm form = batch ? AnswerForm::List : AnswerForm::One;
  auto read = batch || structured ? read_json_form(in, form) : to_rows({read_binary(in)});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return respond(to_answer(*wrong));
  accept_rows(parts, request, std::get<std::vector<OutboxRow>>(std::move(read)), form, respond);
}

}  // namespace postrider
