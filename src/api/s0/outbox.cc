// GET /ops/outbox: messages as rows of an outbox, each once, whatever became of its deliveries.
#include <limits>

#include "api/resources.h"
#include "api/s0/words.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider::s0 {
namespace {

std::variant<MessageFilter, ApiError> read_filter(const ApiParts& parts, const ApiRequest& request,
                                                  const Query& query) {
  // The portal sends its parameters empty where nothing is chosen.
  const std::string tenant = query.text("tenantId");
  const auto about = tenant_of(parts, request.caller, tenant.empty() ? nullptr : &tenant);
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  MessageFilter filter{.tenant = std::get<std::optional<TenantId>>(about)};
  if (const std::string status = query.text("status"); !status.empty()) {
    filter.states = outbox_states(status);
    if (filter.states.empty()) return wrong_parameter("status", "must be Pending, Published or Failed");
  }
  if (auto wrong = read_time(query, "from", parts.clock.now(), filter.from)) return std::move(*wrong);
  if (auto wrong = read_time(query, "to", parts.clock.now(), filter.until)) return std::move(*wrong);
  const auto cursor = read_cursor(query);
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;
  filter.before = std::get<std::optional<RowId>>(cursor);
  return filter;
}

std::string error_of(const MessageView& view, std::string_view status) {
  const bool failed_before = status == "Pending" && view.attempts > 0;
  return status == "Failed" || failed_before ? error_line(view.reason, view.detail) : "";
}

void write_message(JsonWriter& json, const MessageView& view, const Mask& mask, const Rules& rules) {
  const Message& m = view.message;
  const std::string_view status = outbox_status(view.state);
  json.member("id", format_uuid(m.uuid));
  text_or_null(json, "tenantId", m.tenant_name.empty() ? name_of(rules, m.tenant) : m.tenant_name);
  text_or_null(json, "topic", m.topic);
  json.member("eventType", m.type);
  text_or_null(json, "entityId", mask.text(m.entity_id));
  text_or_null(json, "schemaVersion", m.schema_version);
  text_or_null(json, "correlationId", mask.text(m.correlation_id));
  json.key("payloadJson");
  m.payload.empty() ? json.null() : json.raw(mask.json(m.payload));
  json.member("status", status);
  time_or_null(json, "nextAttemptUtc", view.next_attempt);
  json.member("attemptCount", view.attempts);
  text_or_null(json, "lastError", mask.text(excerpt(error_of(view, status), kExcerptBytesMax)));
  json.member("createdAtUtc", format_instant(m.id != 0 ? id_time(m.id) : m.accepted_at));
  time_or_null(json, "publishedAtUtc",
               status == "Published" ? std::optional{view.since.value_or(m.accepted_at)} : std::nullopt);
}

}  // namespace

Answered list_outbox(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = Query::read(request.in.query, {"status", "from", "to", "tenantId", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Query& query = std::get<Query>(read);
  auto filter = read_filter(parts, request, query);
  if (const auto* wrong = std::get_if<ApiError>(&filter)) return *wrong;
  const auto limit = read_limit(query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  auto& wanted = std::get<MessageFilter>(filter);
  wanted.count_max = std::get<std::size_t>(limit) + 1;  // one more shows whether there is a next page
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto messages = (*session)->messages(wanted);
  if (!messages) return store_failed(worker, messages.error());
  std::string next;
  if (messages->size() == wanted.count_max) {
    messages->pop_back();
    const RowId last = messages->back().message.id;
    next = format_cursor(last == 0 ? std::numeric_limits<RowId>::max() : last);
  }
  const Mask mask{shown_to(request.caller)};
  JsonWriter json;
  json.begin_array();
  for (const MessageView& view : *messages) {
    json.begin_object();
    write_message(json, view, mask, parts.rules);
    json.end_object();
  }
  json.end_array();
  return page_answer(json.take(), request.in, next);
}

}  // namespace postrider::s0
