// GET /api/communication-logs and /api/automation-schedules: what was told about one booking, and what waits to be.
#include <algorithm>
#include <limits>

#include "api/resources.h"
#include "api/s0/words.h"
#include "base/limits.h"
#include "base/text.h"

namespace postrider::s0 {
namespace {

/// A booking's page, as it is asked for.
struct Asked {
  ListFilter filter = {};
  std::size_t limit = kPageDefault;
};

std::variant<Asked, ApiError> read_asked(const ApiParts& parts, const ApiRequest& request) {
  const auto read = Query::read(request.in.query, {"bookingId", "tenant", "limit", "cursor"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Query& query = std::get<Query>(read);
  const auto about = tenant_of(parts, request.caller, query.find("tenant"));
  if (const auto* wrong = std::get_if<ApiError>(&about)) return *wrong;
  const auto limit = read_limit(query);
  if (const auto* wrong = std::get_if<ApiError>(&limit)) return *wrong;
  const auto cursor = read_cursor(query);
  if (const auto* wrong = std::get_if<ApiError>(&cursor)) return *wrong;
  Asked asked{.limit = std::get<std::size_t>(limit)};
  asked.filter.tenant = std::get<std::optional<TenantId>>(about);
  asked.filter.entity = query.text("bookingId");
  asked.filter.before = std::get<std::optional<RowId>>(cursor);
  asked.filter.whole = true;
  if (asked.filter.entity.empty()) {
    return wrong_parameter("bookingId", "is needed: the entity id of the messages about the booking");
  }
  return asked;
}

RowId position_of(const ListItem& item) { return item.id == 0 ? std::numeric_limits<RowId>::max() : item.id; }

/// Up to one more than the page holds, of those that `keep` wants.
template <class Keep>
Result<std::vector<ListItem>> collect(StoreSession& session, const Asked& asked, Keep keep) {
  ListFilter filter = asked.filter;
  filter.count_max = asked.limit + 1;
  std::vector<ListItem> kept;
  for (;;) {
    POSTRIDER_TRY(page, session.list(filter));
    for (ListItem& item : page) {
      filter.before = position_of(item);
      if (kept.size() <= asked.limit && keep(item)) kept.push_back(std::move(item));
    }
    if (kept.size() > asked.limit || page.size() < filter.count_max) return kept;
  }
}

template <class Keep, class Write>
Answered answer_page(const ApiParts& parts, Worker& worker, const ApiRequest& request, Keep keep, Write write) {
  const auto read = read_asked(parts, request);
  if (const auto* wrong = std::get_if<ApiError>(&read)) return *wrong;
  const Asked& asked = std::get<Asked>(read);
  const auto session = worker.session();
  if (!session) return store_failed(worker, session.error());
  auto items = collect(**session, asked, keep);
  if (!items) return store_failed(worker, items.error());
  std::string next;
  if (items->size() > asked.limit) {
    items->resize(asked.limit);
    next = format_cursor(position_of(items->back()));
  }
  JsonWriter json;
  json.begin_array();
  for (const ListItem& item : *items) {
    Mask mask{shown_to(request.caller)};
    if (item.delivery) mask.learn(item.delivery->delivery.recipient);
    json.begin_object();
    write(json, item, mask);
    json.end_object();
  }
  json.end_array();
  return page_answer(json.take(), request.in, next);
}

// The contact's key, else what the payload calls it.
std::string guest_of(const ListItem& item) {
  if (!item.delivery->delivery.contact.empty()) return item.delivery->delivery.contact;
  if (item.message == nullptr) return "";
  if (!item.message->contact.empty()) return item.message->contact;
  const auto payload =
      JsonDocument::parse(item.message->payload, {.bytes_max = kPayloadBytesMax, .depth_max = kJsonDepthMax});
  const auto guest = payload ? payload->root().find("guestId") : std::nullopt;
  return guest ? guest->spoken() : "";
}

const AttemptView* accepted_try(const DeliveryView& view) {
  const auto found = std::find_if(view.tries.rbegin(), view.tries.rend(),
                                  [](const AttemptView& a) { return a.outcome == OutcomeKind::Accepted; });
  return found == view.tries.rend() ? nullptr : &*found;
}

bool has_ended_badly(DeliveryState state) { return log_status(state) == "Failed"; }

// Why it failed, or why the last call did not do it.
std::string last_error(const DeliveryView& view) {
  if (has_ended_badly(view.state)) return error_line(view.reason, view.detail);
  if (log_status(view.state) == "Sent" || view.tries.empty()) return "";
  const AttemptView& last = view.tries.back();
  return last.outcome == OutcomeKind::Accepted ? "" : error_line(last.reason, last.excerpt);
}

// One of many recipients is part of its delivery's key.
std::string key_of_log(const Delivery& d, const Mask& mask) {
  if (d.recipient.empty() || !d.key.ends_with(":" + d.recipient)) return mask.text(d.key);
  return mask.text(d.key.substr(0, d.key.size() - d.recipient.size())) + mask_address(d.recipient);
}

void write_log(JsonWriter& json, const ListItem& item, const Mask& mask, const Rules& rules) {
  const DeliveryView& view = *item.delivery;
  const Delivery& d = view.delivery;
  const AttemptView* sent = accepted_try(view);
  const std::string provider = sent != nullptr          ? sent->provider
                               : !view.provider.empty() ? view.provider
                               : !view.tries.empty()    ? view.tries.back().provider
                                                        : "";
  json.member("id", std::to_string(d.id)).member("messageId", format_uuid(d.message_uuid));
  json.member("tenantId", name_of(rules, d.tenant)).member("bookingId", mask.text(item.entity_id));
  text_or_null(json, "guestId", mask.text(guest_of(item)));
  json.member("channel", word_of(d.channel)).member("eventType", d.type);
  text_or_null(json, "toAddress", mask_address(d.recipient));  // whoever reads: a log is read by many
  json.key("templateId");
  d.template_id != 0 ? json.value(d.template_id) : json.null();
  json.member("templateKey", d.template_key).member("templateVersion", d.template_version);
  text_or_null(json, "correlationId", item.message != nullptr ? mask.text(item.message->correlation_id) : "");
  json.member("idempotencyKey", key_of_log(d, mask));
  text_or_null(json, "provider", provider);
  text_or_null(json, "providerMessageId", sent != nullptr ? mask.text(sent->provider_message_id) : "");
  json.member("status", log_status(view.state));
  const bool was_sent = log_status(view.state) == "Sent";
  time_or_null(json, "sentAtUtc",
               !was_sent         ? std::nullopt
               : sent != nullptr ? std::optional{sent->ended_at}
                                 : view.since);
  json.member("attemptCount", view.attempts);
  text_or_null(json, "lastError", mask.text(excerpt(last_error(view), kExcerptBytesMax)));
  json.member("createdAtUtc", format_instant(id_time(d.id)));
}

std::optional<Instant> due_of(const ListItem& item) {
  if (item.delivery && item.delivery->due_at) return item.delivery->due_at;
  if (item.message != nullptr && item.message->due_at) return item.message->due_at;
  return item.accepted_at;
}

void write_schedule(JsonWriter& json, const ListItem& item, const Mask& mask, const Rules& rules) {
  const DeliveryView* view = item.delivery ? &*item.delivery : nullptr;
  const std::string_view status = view != nullptr ? schedule_status(view->state) : schedule_status(item.message_state);
  std::string error;
  if (view != nullptr) {
    error = last_error(*view);
  } else if (status == "Failed" || status == "Cancelled" || is_failure_of_expansion(item.reason)) {
    error = error_line(item.reason, item.detail);
  }
  text_or_null(json, "id", view != nullptr ? std::to_string(view->delivery.id) : "");
  json.member("messageId", format_uuid(item.message_uuid));
  text_or_null(json, "tenantId", name_of(rules, item.tenant));
  json.member("bookingId", mask.text(item.entity_id)).member("eventType", item.type);
  text_or_null(json, "channel", view != nullptr ? word_of(view->delivery.channel) : std::string_view{});
  time_or_null(json, "dueAtUtc", due_of(item));
  json.member("status", status).member("attemptCount", view != nullptr ? view->attempts : 0);
  text_or_null(json, "lastError", mask.text(excerpt(error, kExcerptBytesMax)));
  time_or_null(json, "completedAtUtc", view != nullptr && status != "Pending" ? view->since : std::nullopt);
  json.member("createdAtUtc", format_instant(item.id != 0 ? id_time(item.id) : item.accepted_at));
}

}  // namespace

Answered list_communication_logs(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  return answer_page(
      parts, worker, request, [](const ListItem& item) { return item.delivery.has_value(); },
      [&](JsonWriter& json, const ListItem& item, const Mask& mask) { write_log(json, item, mask, parts.rules); });
}

Answered list_automation_schedules(const ApiParts& parts, Worker& worker, const ApiRequest& request) {
  return answer_page(
      parts, worker, request, [](const ListItem&) { return true; },
      [&](JsonWriter& json, const ListItem& item, const Mask& mask) { write_schedule(json, item, mask, parts.rules); });
}

}  // namespace postrider::s0
