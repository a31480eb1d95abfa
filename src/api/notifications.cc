// GET /api/v1/notifications, /api/v1/notifications/{id} and /api/v1/explain: what became of messages.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/explain/recipient.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/views.h"
#include "base/text.h"

namespace postrider {
namespace {

Addresses shown_to(const Caller& caller) { return caller.sees_addresses() ? Addresses::Plain : Addresses::Masked; }

HttpOut json_answer(std::string body) {
  HttpOut out;
  out.body = std::move(body);
  return out;
}

// What a limit holds back stays in the queue as it is; only this node's engine knows why.
void say_waits(const ApiParts& parts, MessageView& view) {
  for (DeliveryView& each : view.deliveries) {
    if (each.state != DeliveryState::Queued) continue;
    const QueueGroup group{each.delivery.lane, each.delivery.channel, each.delivery.tenant};
    for (const LimitWait& wait : parts.waits()) {
      if (wait.group != group) continue;
      each.reason = wait.reason;
      each.detail = wait.detail;
    }
  }
}

struct Wanted {
  const std::string* tenant = nullptr;  // as the request names it
  std::string_view id = {};
  DeliveryRange range = {};
};

// An id that cannot be one is answered like one that is not there.
std::variant<MessageView, ApiError> find_message(const ApiParts& parts, Worker& worker, const Caller& caller,
                                                 const Wanted& wanted) {
  const auto about = tenant_of(parts, caller, wanted.tenant);
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  const auto uuid = parse_uuid(wanted.id);
  if (!uuid) return from_store({ErrorCode::NotFound, {}});
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto view = (*session)->message(std::get<std::optional<TenantId>>(about), *uuid, wanted.range);
  if (!view) return store_failed(worker, view.error());
  say_waits(parts, *view);
  return std::move(*view);
}

class FilterReader {
 public:
  FilterReader(const ApiParts& parts, const Caller& caller, const Query& query)
      : parts_(parts), caller_(caller), query_(query) {}

  std::variant<ListFilter, ApiError> read() {
    const auto about = tenant_of(parts_, caller_, query_.find("tenant"));
    if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
    filter_.tenant = std::get<std::optional<TenantId>>(about);
    filter_.type = query_.text("type");
    filter_.recipient = query_.text("recipient");
    filter_.state = query_.text("state");
    if (!filter_.state.empty() && !parse_delivery_state(filter_.state) && !parse_message_state(filter_.state)) {
      return wrong_parameter("state", "is no state of a message or a delivery");
    }
    if (const std::string* channel = query_.find("channel")) {
      filter_.channel = parse_channel(*channel);
      if (!filter_.channel) return wrong_parameter("channel", "is not a known channel");
    }
    if (auto wrong = read_time("from", filter_.from)) return std::move(*wrong);
    if (auto wrong = read_time("since", filter_.from)) return std::move(*wrong);
    if (auto wrong = read_time("to", filter_.until)) return std::move(*wrong);
    return filter_;
  }

 private:
  std::optional<ApiError> read_time(std::string_view name, std::optional<Instant>& at) {
    return postrider::read_time(query_, name, parts_.clock.now(), at);
  }

  const ApiParts& parts_;
  const Caller& caller_;
  const Query& query_;
  ListFilter filter_;
};

// Rows that are still in the outbox have no number yet: they come first, on the first page only. Behind them the page
// goes on from the top.
std::string next_cursor(std::vector<ListItem>& items, std::size_t limit) {
  if (items.size() <= limit) return "";
  items.resize(limit);
  const RowId last = items.back().id;
  return format_cursor(last == 0 ? std::numeric_limits<RowId>::max() : last);
}

bool wants_text(const HttpIn& in) {
  const std::string* accept = in.header("accept");
  return accept != nullptr && accept->find("text/plain") != std::string::npos &&
         accept->find("application/json") == std::string::npos;
}

HttpOut story_answer(const HttpIn& in, const Story& story, std::string_view next = {}) {
  HttpOut out;
  if (wants_text(in)) {
    out.content_type = "text/plain; charset=utf-8";
    out.body = story_text(story);
    if (!next.empty()) out.body += fmt::format("next page: cursor={}\n", next);
  } else {
    out.body = story_json(story, next);
  }
  return out;
}

Answered tell_recipient(const ApiParts& parts, Worker& worker, const ApiRequest& request, const Query& query) {
  auto filter = FilterReader{parts, request.caller, query}.read();
  if (const auto* wrong = std::get_if<ApiError>(&filter)) return *wrong;
  const auto limit = read_limit(query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  const auto cursor = read_cursor(query);
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;
  const auto& wanted = std::get<ListFilter>(filter);
  const RecipientQuestion question{.tenant = wanted.tenant,
                                   .address = wanted.recipient,
                                   .type = wanted.type,
                                   .from = wanted.from,
                                   .before = std::get<std::optional<RowId>>(cursor),
                                   .count_max = std::get<std::size_t>(limit)};
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto found = look_up_recipient(**session, parts.rules, question);
  if (!found) return store_failed(worker, found.error());
  const std::string next = found->page.next ? format_cursor(*found->page.next) : "";
  return story_answer(request.in, explain_recipient(question, *found, parts.rules, shown_to(request.caller)), next);
}

}  // namespace

Answered get_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = Query::read(request.in.query, {"tenant", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Query& query = std::get<Query>(read);
  std::size_t limit = kDeliveriesShownMax;
  if (query.find("limit") != nullptr) {
    const auto wanted = read_limit(query);
    if (const auto* wrong = std::get_if<ApiError>(&wanted)) return *wrong;
    limit = std::get<std::size_t>(wanted);
  }
  const auto cursor = read_cursor(query);
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;
  const DeliveryRange range{.after = std::get<std::optional<RowId>>(cursor).value_or(0),
                            .count_max = limit + 1};  // one more shows whether there is a next page
  auto found = find_message(parts, worker, request.caller, {query.find("tenant"), request.id, range});
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  auto& view = std::get<MessageView>(found);
  std::string next;
  if (view.deliveries.size() > limit) {
    view.deliveries.resize(limit);
    next = format_cursor(view.deliveries.back().delivery.id);
  }
  if (request.caller.role == Role::Producer) return json_answer(message_state_json(view, next));
  return json_answer(message_json(view, shown_to(request.caller), next));
}

Answered list_notifications(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = Query::read(request.in.query,
                                {"tenant", "state", "type", "channel", "recipient", "from", "to", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Query& query = std::get<Query>(read);
  auto filter = FilterReader{parts, request.caller, query}.read();
  if (const auto* wrong = std::get_if<ApiError>(&filter)) return *wrong;
  const auto limit = read_limit(query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  const auto cursor = read_cursor(query);
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;

  auto& wanted = std::get<ListFilter>(filter);
  wanted.before = std::get<std::optional<RowId>>(cursor);
  wanted.count_max = std::get<std::size_t>(limit) + 1;  // one more shows whether there is a next page
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto items = (*session)->list(wanted);
  if (!items) return store_failed(worker, items.error());
  std::string next = next_cursor(*items, std::get<std::size_t>(limit));
  return json_answer(list_json({*items, std::move(next)}, parts.rules, shown_to(request.caller)));
}

Answered get_explanation(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read =
      Query::read(request.in.query, {"message", "recipient", "type", "since", "tenant", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Query& query = std::get<Query>(read);
  const std::string* message = query.find("message");
  const std::string* recipient = query.find("recipient");
  if ((message == nullptr) == (recipient == nullptr) || (recipient != nullptr && recipient->empty())) {
    return wrong_parameter(recipient != nullptr ? "recipient" : "message",
                           "is needed: ask for a message by its id, or for a recipient by its address");
  }
  if (recipient != nullptr) return tell_recipient(parts, worker, request, query);
  for (const char* name : {"type", "since", "limit", "cursor"}) {
    if (query.find(name) != nullptr) return wrong_parameter(name, "goes with a recipient only");
  }
  const auto found = find_message(parts, worker, request.caller, {query.find("tenant"), *message});
  if (const auto* wrong = std::get_if<ApiError>(&found)) return *wrong;
  return story_answer(request.in, explain_message(std::get<MessageView>(found), shown_to(request.caller)));
}

}  // namespace postrider
