// What an operator does to the deliveries of one message, of one entity, or to all that wait; each change leaves who,
// when and why.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/message_reader.h"
#include "api/people.h"
#include "api/query.h"
#include "api/resources.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "pipeline/outbox_row.h"

namespace postrider {
namespace {

using Verb = Result<Acted> (OperateStore::*)(Instant, const OperatorAction&, std::span<const RowId>);
using MessageVerb = Result<Acted> (OperateStore::*)(Instant, const OperatorAction&, std::span<const Uuid>);

struct Order {
  std::string why = {};
  std::optional<RowId> delivery = {};
  std::optional<TenantId> tenant = {};  // empty: any
};

ApiError wrong_member(std::string_view field, std::string_view what) {
  return {.code = ApiErrorCode::InvalidMessage,
          .message = fmt::format("{} {}. The body is optional: {{\"why\":\"…\",\"delivery\":\"…\"}}.", field, what),
          .field = std::string{field}};
}

std::optional<RowId> parse_row_id(std::string_view text) {
  RowId id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc{} && end == text.data() + text.size() && id > 0 ? std::optional{id} : std::nullopt;
}

std::optional<ApiError> read_order_body(const HttpIn& in, Order& order) {
  if (in.body.empty()) return std::nullopt;
  if (media_type(in) != "application/json" || !says_utf8(in)) {
    return ApiError{.code = ApiErrorCode::UnsupportedMediaType,
                    .message = "Send JSON in UTF-8 with the header \"Content-Type: application/json\", or no body."};
  }
  const auto body = read_body(in.body);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const JsonView root = std::get<JsonDocument>(body).root();
  if (!root.is_object()) return wrong_member("The body", "is not a JSON object");
  for (const auto& [name, value] : root.members()) {
    const auto text = value.text();
    if (name == "why") {
      if (!text || text->size() > kTextFieldBytesMax || has_control(*text)) {
        return wrong_member("why", fmt::format("must be a text of up to {} bytes on one line", kTextFieldBytesMax));
      }
      order.why = *text;
    } else if (name == "delivery") {
      order.delivery = text ? parse_row_id(*text) : std::nullopt;
      if (!order.delivery) return wrong_member("delivery", "must be a delivery's id, as text");
    } else {
      return ApiError{.code = ApiErrorCode::UnknownField,
                      .message = fmt::format("\"{}\" is not known here; there is why and delivery.", excerpt(name, 60)),
                      .field = excerpt(name, 60)};
    }
  }
  return std::nullopt;
}

std::variant<Order, ApiError> read_order(const ApiParts& parts, const ApiRequest& request) {
  const auto query = Query::read(request.in.query, {"tenant"});
  if (const auto* wrong = std::get_if<ApiError>(&query)) return *wrong;
  const auto about = tenant_of(parts, request.caller, std::get<Query>(query).find("tenant"));
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  Order order{.tenant = std::get<std::optional<TenantId>>(about)};
  if (auto wrong = read_order_body(request.in, order)) return std::move(*wrong);
  return order;
}

OperatorAction action_of(const ApiParts& parts, const ApiRequest& request, const Order& order) {
  return {.actor = request.caller.name,
          .why = order.why,
          .tenant = order.tenant,
          .exempt = parts.rules.exempt_categories()};
}

HttpOut acted_answer(std::string_view action, std::string_view id, const Acted& acted) {
  JsonWriter json;
  json.begin_object();
  json.member("action", action);
  if (!id.empty()) json.member("id", id);
  json.member("changed", acted.changed);
  if (action == "cancel") json.member("marked", acted.marked);
  json.end_object();
  HttpOut out;
  out.body = json.take();
  return out;
}

std::optional<ApiError> read_entity_body(const HttpIn& in, std::string& why, std::string& type) {
  if (in.body.empty()) return std::nullopt;
  const auto body = read_json(in);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return *wrong;
  const JsonView root = std::get<JsonDocument>(body).root();
  if (!root.is_object()) return wrong_item({"The body", "must be a JSON object"});
  for (const auto& [name, value] : root.members()) {
    if (name != "reason" && name != "type") return unknown_item_field(name, "reason and type");
    const auto text = value.text();
    if (!text || text->size() > kTextFieldBytesMax || has_control(*text)) {
      return wrong_item(
          {std::string{name}, fmt::format("must be a text of up to {} bytes on one line", kTextFieldBytesMax)});
    }
    (name == "reason" ? why : type) = *text;
  }
  return std::nullopt;
}

// Why what was not waiting could not be cancelled any more. What had ended without being sent needs no word.
std::string_view too_late(DeliveryState state) {
  switch (state) {
    case DeliveryState::Sending: return "its call is under way, and it was called off before: it is not tried again";
    case DeliveryState::Sent:
    case DeliveryState::Delivered: return "it was sent before";
    case DeliveryState::Parked: return "it is parked: nothing happens to it unless an operator acts; discard it";
    case DeliveryState::Queued:
    case DeliveryState::Retrying:  // moved on just now
      return "it was between two places; ask again";
    case DeliveryState::Discarded:
    case DeliveryState::Cancelled:
    case DeliveryState::Suppressed:
    case DeliveryState::Expired: return "";
  }
  POSTRIDER_DIE("a DeliveryState outside its enum");
}

HttpOut entity_answer(const EntityRef& entity, const CancelledEntity& cancelled) {
  JsonWriter json;
  json.begin_object();
  json.member("action", "cancel").member("entity_id", entity.id);
  json.member("changed", cancelled.messages + cancelled.deliveries + cancelled.marked);
  json.member("messages", cancelled.messages).member("deliveries", cancelled.deliveries);
  json.member("marked", cancelled.marked);
  json.key("not_cancelled").begin_array();
  for (const auto& [state, count] : cancelled.left) {
    const std::string_view why = too_late(state);
    if (why.empty()) continue;
    json.begin_object().member("state", to_text(state)).member("count", count).member("why", why).end_object();
  }
  json.end_array().end_object();
  HttpOut out;
  out.body = json.take();
  return out;
}

struct Operation {
  std::string_view name;
  Verb verb;
  std::string_view applies_to;
  MessageVerb whole = nullptr;  // what it does to the message itself
};

void add(const ApiParts& parts, Acted& all, Acted acted) {
  all.changed += acted.changed;
  all.marked += acted.marked;
  if (!acted.groups.empty()) parts.work_appeared(std::move(acted.groups));
}

/// The deliveries in batches, each its own transaction: a message may have a hundred thousand of them.
Result<Acted> act(const ApiParts& parts, StoreSession& session, const OperatorAction& action,
                  const Operation& operation, const Message& message) {
  Acted all;
  if (operation.whole != nullptr) {
    POSTRIDER_TRY(acted, (session.*operation.whole)(parts.clock.now(), action, {&message.uuid, 1}));
    add(parts, all, std::move(acted));
  }
  for (DeliveryRange range{.count_max = kBatchMax};;) {
    POSTRIDER_TRY(ids, session.deliveries_of(message.id, range));
    if (ids.empty()) return all;
    POSTRIDER_TRY(acted, (session.*operation.verb)(parts.clock.now(), action, ids));
    add(parts, all, std::move(acted));
    range.after = ids.back();
  }
}

std::string states_of(const MessageView& view) {
  if (view.deliveries.empty() && view.counts.total == 0)
    return fmt::format("the message is {} and has no delivery", to_text(view.state));
  if (!view.deliveries.empty()) return fmt::format("it is {}", to_text(view.deliveries.front().state));
  std::string states;
  for (const auto& [state, count] : view.counts.by_state)
    states += fmt::format("{}{}", states.empty() ? "" : ", ", to_text(state));
  return fmt::format("its deliveries are: {}", states);
}

Answered operate(const ApiParts& parts, Worker& worker, const ApiRequest& request, const Operation& operation) {
  const auto read = read_order(parts, request);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Order& order = std::get<Order>(read);
  const auto uuid = parse_uuid(request.id);
  if (!uuid) return from_store({ErrorCode::NotFound, {}});
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  // The one delivery that is named, or none: all of them are acted on without a look at each.
  const DeliveryRange named =
      order.delivery ? DeliveryRange{.after = *order.delivery - 1, .count_max = 1} : DeliveryRange{.count_max = 0};
  const auto view = (*session)->message(order.tenant, *uuid, named);
  if (!view) return store_failed(worker, view.error());
  if (order.delivery && (view->deliveries.empty() || view->deliveries.front().delivery.id != *order.delivery)) {
    return ApiError{.code = ApiErrorCode::NotFound, .message = "This notification has no such delivery."};
  }
  const OperatorAction action = action_of(parts, request, order);
  auto acted = order.delivery ? ((*session)->*operation.verb)(parts.clock.now(), action, {&*order.delivery, 1})
                              : act(parts, **session, action, operation, view->message);
  if (!acted) return store_failed(worker, acted.error());
  if (!acted->groups.empty()) parts.work_appeared(std::move(acted->groups));
  if (acted->changed > 0) return acted_answer(operation.name, format_uuid(*uuid), *acted);
  return ApiError{.code = ApiErrorCode::NotApplicable,
                  .message = fmt::format("Nothing to {}: only {} can be, and {}.", operation.name, operation.applies_to,
                                         states_of(*view))};
}

}  // namespace

Answered retry_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  return operate(parts, worker, request, {"retry", &OperateStore::retry, "parked deliveries"});
}
Answered discard_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  return operate(parts, worker, request, {"discard", &OperateStore::discard, "parked deliveries"});
}
Answered cancel_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  return operate(parts, worker, request, {"cancel", &OperateStore::cancel, "queued, retrying and sending deliveries"});
}
Answered dispatch_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  return operate(parts, worker, request,
                 {"dispatch", &OperateStore::dispatch, "what waits for a later time", &OperateStore::dispatch_expand});
}

Answered replay_notification(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_order(parts, request);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Order& order = std::get<Order>(read);
  if (order.delivery) return wrong_member("delivery", "is not for a replay, which is of the whole message");
  const auto uuid = parse_uuid(request.id);
  if (!uuid) return from_store({ErrorCode::NotFound, {}});
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const auto view = (*session)->message(order.tenant, *uuid, {.count_max = 0});
  if (!view) return store_failed(worker, view.error());
  auto acted = (*session)->replay(parts.clock.now(), action_of(parts, request, order), {&*uuid, 1});
  if (!acted) return store_failed(worker, acted.error());
  if (acted->changed == 0) {
    return ApiError{.code = ApiErrorCode::NotApplicable,
                    .message = fmt::format("Nothing to replay: only failed and ignored messages can be, and this one "
                                           "is {}.",
                                           to_text(view->state))};
  }
  parts.work_appeared(std::move(acted->groups));
  return acted_answer("replay", format_uuid(*uuid), *acted);
}

Answered cancel_entity(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto about = read_people_request(parts, request, {"tenant"});
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  const auto& who = std::get<PeopleRequest>(about);
  EntityRef entity{.tenant = who.tenant->id, .id = who.name};
  OperatorAction action = who.by;
  if (auto wrong = read_entity_body(request.in, action.why, entity.type)) return std::move(*wrong);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  const Instant now = parts.clock.now();
  const auto cancelled =
      (*session)->cancel_entity(now, action, entity, cancelling(parts.rules, parts.ids, now, request.draw, action.why));
  if (!cancelled) return store_failed(worker, cancelled.error());
  return entity_answer(entity, *cancelled);
}

Answered dispatch_all(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  const auto read = read_order(parts, request);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Order& order = std::get<Order>(read);
  if (order.delivery) return wrong_member("delivery", "is not for dispatching all");
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto acted = (*session)->dispatch(parts.clock.now(), action_of(parts, request, order), {});
  if (!acted) return store_failed(worker, acted.error());
  if (!acted->groups.empty()) parts.work_appeared(std::move(acted->groups));
  return acted_answer("dispatch", "", *acted);
}

}  // namespace postrider
