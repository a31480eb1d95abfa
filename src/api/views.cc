#include "api/views.h"

#include <algorithm>
#include <array>

#include "base/json.h"

namespace postrider {

namespace {

void write_reason(JsonWriter& json, Reason reason) {
  json.key("reason").begin_object();
  json.member("code", code_of(reason));
  json.member("words", words_of(reason));
  json.end_object();
}
void json_or_null(JsonWriter& json, std::string_view name, const Mask& mask, std::string_view text) {
  json.key(name);
  text.empty() ? json.null() : json.raw(mask.json(text));
}

std::size_t count_of(const DeliveryCounts& counts, DeliveryState state) {
  const auto at = counts.by_state.find(state);
  return at == counts.by_state.end() ? 0 : at->second;
}

void write_producer_fields(JsonWriter& json, const Message& m, const Mask& mask, bool without_payload) {
  json.member("id", format_uuid(m.uuid));
  json.member("tenant", m.tenant_name);
  text_or_null(json, "topic", m.topic);
  json.member("type", m.type);
  text_or_null(json, "entity_id", mask.text(m.entity_id));
  text_or_null(json, "version", m.version);
  text_or_null(json, "idempotency_key", mask.text(m.idempotency_key));
  json_or_null(json, "payload", mask, without_payload ? std::string_view{} : m.payload);
  text_or_null(json, "lane", m.lane ? to_text(*m.lane) : std::string_view{});
  text_or_null(json, "category", m.category);
  text_or_null(json, "locale", m.locale);
  text_or_null(json, "origin", m.origin);
  text_or_null(json, "correlation_id", mask.text(m.correlation_id));
  text_or_null(json, "traceparent", m.traceparent);
  text_or_null(json, "schema_version", m.schema_version);
  time_or_null(json, "occurred_at", m.occurred_at);
  time_or_null(json, "due_at", m.due_at);
  time_or_null(json, "expires_at", m.expires_at);
  json.key("source").begin_object();
  text_or_null(json, "site", m.source_site);
  text_or_null(json, "instance", m.source_instance);
  text_or_null(json, "script", m.source_script);
  time_or_null(json, "site_enqueued_at", m.site_enqueued_at);
  json.end_object();
  json_or_null(json, "type_data", mask, m.type_data);
  text_or_null(json, "channel", m.channel ? to_text(*m.channel) : std::string_view{});
  text_or_null(json, "recipient", mask.address(m.recipient));
  text_or_null(json, "contact", mask.text(m.contact));
  text_or_null(json, "list", m.list);
  text_or_null(json, "subject", mask.text(m.subject));
  text_or_null(json, "body", mask.text(m.body));
  text_or_null(json, "template", m.template_key);
}

void write_message_state(JsonWriter& json, const MessageView& view, const Mask& mask, bool without_detail) {
  time_or_null(json, "accepted_at", view.message.accepted_at);
  json.member("status", message_status(view));
  json.member("state", to_text(view.state));
  write_reason(json, view.reason);
  text_or_null(json, "detail", without_detail ? "" : mask.text(view.detail));
  json.member("attempt_count", view.attempts);
  time_or_null(json, "next_attempt_at", view.next_attempt);
  time_or_null(json, "since", view.since);
}

void write_counts(JsonWriter& json, const DeliveryCounts& counts) {
  json.member("deliveries_total", counts.total);
  json.key("deliveries_by_state").begin_object();
  for (const auto& [state, count] : counts.by_state) json.member(to_text(state), count);
  json.end_object();
}

void write_attempt(JsonWriter& json, const AttemptView& a, const Mask& mask) {
  json.begin_object();
  json.member("number", a.number);
  json.member("provider", a.provider);
  json.member("outcome", to_text(a.outcome));
  write_reason(json, a.reason);
  text_or_null(json, "provider_message_id", mask.text(a.provider_message_id));
  text_or_null(json, "excerpt", mask.text(a.excerpt));
  json.member("started_at", format_instant(a.started_at));
  json.member("ended_at", format_instant(a.ended_at));
  json.member("late", a.late);
  json.end_object();
}

void write_delivery_state(JsonWriter& json, const DeliveryView& view, const Mask& mask) {
  json.member("id", std::to_string(view.delivery.id));  // as text: 63 bits are more than many JSON readers keep
  json.member("channel", to_text(view.delivery.channel));
  json.member("lane", to_text(view.delivery.lane));
  json.member("state", to_text(view.state));
  write_reason(json, view.reason);
  text_or_null(json, "detail", mask.text(view.detail));
  json.member("attempt_count", view.attempts);
  json.member("possible_duplicate", possible_duplicate(view));
  time_or_null(json, "due_at", view.due_at);
  time_or_null(json, "since", view.since);
}

void write_content(JsonWriter& json, const Delivery& d, const Mask& mask) {
  text_or_null(json, "recipient", mask.address(d.recipient));
  text_or_null(json, "subject", mask.text(d.subject));
  text_or_null(json, "body", mask.text(d.body));
  text_or_null(json, "html", mask.text(d.html));
  json.member("key", mask.text(d.key));
}

void write_delivery(JsonWriter& json, const DeliveryView& view, const Mask& mask) {
  const Delivery& d = view.delivery;
  json.begin_object();
  write_delivery_state(json, view, mask);
  json.member("guarantee", to_text(d.guarantee));
  write_content(json, d, mask);
  text_or_null(json, "contact", mask.text(d.contact));
  text_or_null(json, "category", d.category);
  text_or_null(json, "locale", d.locale);
  text_or_null(json, "quiet_hours", d.quiet);
  text_or_null(json, "template", d.template_key);
  text_or_null(json, "template_id", d.template_id == 0 ? "" : std::to_string(d.template_id));
  json.member("template_version", d.template_version);
  text_or_null(json, "warnings", mask.text(d.warnings));
  time_or_null(json, "expires_at", d.expires_at);
  text_or_null(json, "provider", view.provider);
  json.key("attempts").begin_array();
  for (const AttemptView& attempt : view.tries) write_attempt(json, attempt, mask);
  json.end_array().end_object();
}

// Two parallel arrays, one entry per attempt, null where there is none.
void write_providers(JsonWriter& json, const MessageView& view, const Mask& mask) {
  const auto write = [&](std::string_view name, auto text_of) {
    json.key(name).begin_array();
    for (const DeliveryView& delivery : view.deliveries) {
      for (const AttemptView& attempt : delivery.tries) {
        const std::string text = mask.text(text_of(attempt));
        text.empty() ? json.null() : json.value(text);
      }
    }
    json.end_array();
  };
  write("providerNames", [](const AttemptView& a) -> const std::string& { return a.provider; });
  write("providerMessageIds", [](const AttemptView& a) -> const std::string& { return a.provider_message_id; });
}

void learn_all(Mask& mask, const MessageView& view) {
  mask.learn(view.message.recipient);
  for (const DeliveryView& delivery : view.deliveries) mask.learn(delivery.delivery.recipient);
}

std::string_view tenant_name(const Rules& rules, TenantId id) {
  const Tenant* tenant = rules.tenant(id);
  return tenant == nullptr ? std::string_view{} : tenant->name;
}

void write_item(JsonWriter& json, const ListItem& item, const Rules& rules, Addresses shown) {
  Mask mask{shown};
  const DeliveryView* view = item.delivery ? &*item.delivery : nullptr;
  if (view != nullptr) mask.learn(view->delivery.recipient);
  json.begin_object();
  json.member("id", format_uuid(item.message_uuid));
  text_or_null(json, "tenant", tenant_name(rules, item.tenant));
  json.member("type", item.type);
  json.member("message_state", to_text(item.message_state));
  json.member("state", view != nullptr ? to_text(view->state) : to_text(item.message_state));
  write_reason(json, view != nullptr ? view->reason : item.reason);
  text_or_null(json, "detail", mask.text(view != nullptr ? view->detail : item.detail));
  json.member("accepted_at", format_instant(item.accepted_at));
  text_or_null(json, "delivery", view != nullptr ? std::to_string(view->delivery.id) : "");
  text_or_null(json, "channel", view != nullptr ? to_text(view->delivery.channel) : std::string_view{});
  text_or_null(json, "recipient", view != nullptr ? mask.address(view->delivery.recipient) : "");
  json.member("attempt_count", view != nullptr ? view->attempts : 0);
  time_or_null(json, "due_at", view != nullptr ? view->due_at : std::nullopt);
  time_or_null(json, "since", view != nullptr ? view->since : std::nullopt);
  json.end_object();
}

}  // namespace

std::string_view message_status(const MessageView& view) {
  const auto any_in = [&](DeliveryState state) { return count_of(view.counts, state) > 0; };
  // Due at a time that the producer chose is waiting, not trying again.
  if (count_of(view.counts, DeliveryState::Retrying) > view.counts.scheduled) return "retrying";
  if (any_in(DeliveryState::Queued) || any_in(DeliveryState::Sending) || any_in(DeliveryState::Retrying))
    return "pending";
  if (view.state == MessageState::Pending || view.state == MessageState::Expanding) return "pending";
  static constexpr std::array kEnds{DeliveryState::Parked,   DeliveryState::Delivered,  DeliveryState::Sent,
                                    DeliveryState::Expired,  DeliveryState::Suppressed, DeliveryState::Cancelled,
                                    DeliveryState::Discarded};
  const auto end = std::find_if(kEnds.begin(), kEnds.end(), any_in);
  return end != kEnds.end() ? to_text(*end) : to_text(view.state);
}

bool possible_duplicate(const DeliveryView& view) {
  const auto unclear = [](const AttemptView& a) { return a.outcome == OutcomeKind::Unclear; };
  const auto first = std::find_if(view.tries.begin(), view.tries.end(), unclear);
  if (first == view.tries.end()) return false;
  if (view.state == DeliveryState::Sending) return true;  // the repeat is under way
  // A second row with the same fence is the same call, heard of twice.
  return std::any_of(view.tries.begin(), view.tries.end(),
                     [&](const AttemptView& later) { return later.fence > first->fence; });
}

bool hides_others(const MessageView& view, Addresses shown) {
  return shown == Addresses::Masked && view.deliveries.size() < view.counts.total;
}

std::string message_json(const MessageView& view, Addresses shown, std::string_view next) {
  Mask mask{shown};
  learn_all(mask, view);
  JsonWriter json;
  json.begin_object();
  write_producer_fields(json, view.message, mask, hides_others(view, shown));
  write_message_state(json, view, mask, hides_others(view, shown));
  json.member("possible_duplicate", std::any_of(view.deliveries.begin(), view.deliveries.end(), possible_duplicate));
  write_counts(json, view.counts);
  json.key("deliveries").begin_array();
  for (const DeliveryView& delivery : view.deliveries) write_delivery(json, delivery, mask);
  json.end_array();
  text_or_null(json, "next", next);
  write_providers(json, view, mask);
  json.end_object();
  return json.take();
}

std::string message_state_json(const MessageView& view, std::string_view next) {
  Mask mask{Addresses::Masked};
  learn_all(mask, view);
  JsonWriter json;
  json.begin_object();
  json.member("id", format_uuid(view.message.uuid));
  json.member("tenant", view.message.tenant_name);
  json.member("type", view.message.type);
  write_message_state(json, view, mask, hides_others(view, Addresses::Masked));
  write_counts(json, view.counts);
  json.key("deliveries").begin_array();
  for (const DeliveryView& delivery : view.deliveries) {
    json.begin_object();
    write_delivery_state(json, delivery, mask);
    json.end_object();
  }
  json.end_array();
  text_or_null(json, "next", next);
  json.end_object();
  return json.take();
}

std::string list_json(const ListPage& page, const Rules& rules, Addresses shown) {
  JsonWriter json;
  json.begin_object().key("notifications").begin_array();
  for (const ListItem& item : page.items) write_item(json, item, rules, shown);
  json.end_array();
  text_or_null(json, "next", page.next);
  json.end_object();
  return json.take();
}

Result<std::vector<ProducersWords>> producers_words(StoreSession& store, std::span<const SandboxItem> items) {
  std::vector<RowId> ids;
  for (const SandboxItem& item : items) ids.push_back(item.id);
  POSTRIDER_TRY(found, store.late_deliveries(ids));
  std::vector<ProducersWords> words;
  for (LateDelivery& each : found)
    words.push_back({std::move(each.message.idempotency_key), std::move(each.message.payload)});
  return words;
}

std::string sandbox_json(const SandboxPage& page, const Rules& rules, Addresses shown) {
  POSTRIDER_CHECK(page.words.size() == page.items.size());
  JsonWriter json;
  json.begin_object().key("messages").begin_array();
  for (std::size_t i = 0; i < page.items.size(); ++i) {
    const SandboxItem& item = page.items[i];
    Mask mask{shown};
    mask.learn(item.delivery.recipient);
    json.begin_object();
    json.member("id", format_uuid(item.delivery.message_uuid));
    json.member("delivery", std::to_string(item.id));
    text_or_null(json, "tenant", tenant_name(rules, item.delivery.tenant));
    json.member("provider", item.provider);
    json.member("channel", to_text(item.delivery.channel));
    json.member("type", item.delivery.type);
    write_content(json, item.delivery, mask);
    text_or_null(json, "message_key", mask.text(page.words[i].key));
    // It may name other recipients, whom a mask does not know.
    const bool told = shown == Addresses::Plain && !page.words[i].payload.empty();
    json.key("payload");
    told ? json.raw(page.words[i].payload) : json.null();
    json.member("calls", item.calls).member("attempt_count", item.calls);
    json.member("sent_at", format_instant(item.sent_at)).member("last_sent_at", format_instant(item.sent_at));
    json.end_object();
  }
  json.end_array();
  text_or_null(json, "next", page.next);
  json.end_object();
  return json.take();
}

}  // namespace postrider
