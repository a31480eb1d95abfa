// GET /ops/outbox: messages as rows of an outbox, each once, whatever became of its deliveries.
#include <algorithm>

#include "api/resources.h"
#include "api/s0/words.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider::s0 {
namespace {

// Before a cursor that counts rows of the outbox table: they have no ids yet.
constexpr std::string_view kInOutbox = "o";
constexpr std::size_t kOutboxRowsPassedMax = 20'000;

/// A page, as it is asked for: messages by their ids, newest first, and before them what is still in the outbox table.
struct OutboxAsked {
  MessageFilter filter = {};
  std::size_t passed = 0;  // rows of the outbox table on the pages before
  std::size_t limit = kPageDefault;
};

std::optional<ApiError> read_place(const Query& query, OutboxAsked& asked) {
  const std::string text = query.text("cursor");
  if (text.starts_with(kInOutbox)) {
    const auto number = parse_cursor(std::string_view{text}.substr(kInOutbox.size()));
    if (!number || static_cast<std::size_t>(*number) > kOutboxRowsPassedMax)
      return wrong_parameter("cursor", "is not one that this API gave out");
    asked.passed = static_cast<std::size_t>(*number);
    return std::nullopt;
  }
  const auto cursor = read_cursor(query);
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;
  asked.filter.before = std::get<std::optional<RowId>>(cursor);
  return std::nullopt;
}

std::variant<OutboxAsked, ApiError> read_outbox_asked(const ApiParts& parts, const ApiRequest& request,
                                                      const Query& query) {
  // The portal sends its parameters empty where nothing is chosen.
  const std::string tenant = query.text("tenantId");
  const auto about = tenant_of(parts, request.caller, tenant.empty() ? nullptr : &tenant);
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  OutboxAsked asked;
  MessageFilter& filter = asked.filter;
  filter.tenant = std::get<std::optional<TenantId>>(about);
  if (const std::string status = query.text("status"); !status.empty()) {
    filter.states = outbox_states(status);
    if (filter.states.empty()) return wrong_parameter("status", "must be Pending, Published or Failed");
  }
  if (auto wrong = read_time(query, "from", parts.clock.now(), filter.from)) return std::move(*wrong);
  if (auto wrong = read_time(query, "to", parts.clock.now(), filter.until)) return std::move(*wrong);
  if (auto wrong = read_place(query, asked)) return std::move(*wrong);
  const auto limit = read_limit(query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  asked.limit = std::get<std::size_t>(limit);
  filter.count_max = asked.passed + asked.limit + 1;  // one more shows whether there is a next page
  return asked;
}

// An id of ours says when the message came; an inner one, when it left the table.
Instant created_at(const Message& m) {
  if (m.id == 0) return m.accepted_at;
  const Instant expanded_at = id_time(m.id);
  return is_checked(m.uuid) ? std::min(uuid7_time(m.uuid).value_or(expanded_at), expanded_at) : expanded_at;
}

bool is_in_outbox(const MessageView& view) { return view.message.id == 0; }

// Leaves the page, and gives the next one's cursor.
std::string cut_page(std::vector<MessageView>& messages, const OutboxAsked& asked) {
  std::size_t passed = 0;
  while (passed < std::min(asked.passed, messages.size()) && is_in_outbox(messages[passed])) ++passed;
  messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(passed));
  if (messages.size() <= asked.limit) return "";
  messages.resize(asked.limit);
  if (!is_in_outbox(messages.back())) return format_cursor(messages.back().message.id);
  return std::string{kInOutbox} + format_cursor(static_cast<RowId>(passed + asked.limit));
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
  json.member("createdAtUtc", format_instant(created_at(m)));
  time_or_null(json, "publishedAtUtc",
               status == "Published" ? std::optional{view.since.value_or(m.accepted_at)} : std::nullopt);
}

}  // namespace

Answered list_outbox(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = Query::read(request.in.query, {"status", "from", "to", "tenantId", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Query& query = std::get<Query>(read);
  const auto asked = read_outbox_asked(parts, request, query);
  if (const auto* wrong = std::get_if<ApiError>(&asked)) return *wrong;
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto messages = (*session)->messages(std::get<OutboxAsked>(asked).filter);
  if (!messages) return store_failed(worker, messages.error());
  const std::string next = cut_page(*messages, std::get<OutboxAsked>(asked));
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
