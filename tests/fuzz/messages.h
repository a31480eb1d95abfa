// What the targets that make messages share: rules, rows as JSON, and what must be true of everything that is stored.
#pragma once
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "core/expand.h"
#include "core/message.h"
#include "core/rules.h"

namespace postrider::fuzz {

inline constexpr Instant kNow = instant_from_us(1'772'000'000'000'000);  // 2026-02-25

using Column = std::pair<const char*, std::string OutboxRow::*>;
inline constexpr std::array kColumns{Column{"id", &OutboxRow::id},
                                     Column{"tenant", &OutboxRow::tenant},
                                     Column{"topic", &OutboxRow::topic},
                                     Column{"type", &OutboxRow::type},
                                     Column{"entity_id", &OutboxRow::entity_id},
                                     Column{"version", &OutboxRow::version},
                                     Column{"idempotency_key", &OutboxRow::idempotency_key},
                                     Column{"payload", &OutboxRow::payload},
                                     Column{"sealed", &OutboxRow::sealed},
                                     Column{"lane", &OutboxRow::lane},
                                     Column{"category", &OutboxRow::category},
                                     Column{"locale", &OutboxRow::locale},
                                     Column{"origin", &OutboxRow::origin},
                                     Column{"correlation_id", &OutboxRow::correlation_id},
                                     Column{"traceparent", &OutboxRow::traceparent},
                                     Column{"schema_version", &OutboxRow::schema_version},
                                     Column{"occurred_at", &OutboxRow::occurred_at},
                                     Column{"due_at", &OutboxRow::due_at},
                                     Column{"expires_at", &OutboxRow::expires_at},
                                     Column{"source_site", &OutboxRow::source_site},
                                     Column{"source_instance", &OutboxRow::source_instance},
                                     Column{"source_script", &OutboxRow::source_script},
                                     Column{"site_enqueued_at", &OutboxRow::site_enqueued_at},
                                     Column{"type_data", &OutboxRow::type_data},
                                     Column{"channel", &OutboxRow::channel},
                                     Column{"recipient", &OutboxRow::recipient},
                                     Column{"contact", &OutboxRow::contact},
                                     Column{"list", &OutboxRow::list},
                                     Column{"subject", &OutboxRow::subject},
                                     Column{"body", &OutboxRow::body},
                                     Column{"template", &OutboxRow::template_key}};

inline bool is_json_column(std::string_view name) { return name == "payload" || name == "type_data"; }

/// The row as a message of the HTTP API.
inline std::string as_json(const OutboxRow& row) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, place] : kColumns) {
    const std::string& value = row.*place;
    if (value.empty()) continue;
    json.key(name);
    if (is_json_column(name)) {
      json.raw(value);
    } else {
      json.value(value);
    }
  }
  return json.end_object().take();
}

/// One way to write each escape: JSON has two for some control characters.
inline std::string one_spelling(std::string_view json) {
  constexpr std::string_view kShort = "bfnrt";
  constexpr std::string_view kLong[] = {"0008", "000c", "000a", "000d", "0009"};
  std::string out;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] != '\\' || at + 1 == json.size()) {
      out += json[at];
      continue;
    }
    const char escaped = json[++at];
    const std::size_t which = kShort.find(escaped);
    out += '\\';
    if (which == std::string_view::npos) {
      out += escaped;
    } else {
      (out += 'u') += kLong[which];
    }
  }
  return out;
}

inline bool is_same(const OutboxRow& a, const OutboxRow& b) {
  for (const auto& [name, place] : kColumns) {
    const bool same = is_json_column(name) ? one_spelling(a.*place) == one_spelling(b.*place) : a.*place == b.*place;
    if (!same) return false;
  }
  return true;
}

/// What any store can keep. A row that it cannot keep would hold up its whole batch.
inline bool is_storable(std::string_view text) {
  return is_utf8(text) && text.find('\0') == std::string_view::npos && text.size() <= kContentBytesMax + 3;
}

inline void check_storable(const Message& m) {
  for (const std::string* text :
       {&m.tenant_name, &m.topic,          &m.type,        &m.entity_id,       &m.version,       &m.idempotency_key,
        &m.payload,     &m.sealed,         &m.category,    &m.locale,          &m.origin,        &m.correlation_id,
        &m.traceparent, &m.schema_version, &m.source_site, &m.source_instance, &m.source_script, &m.type_data,
        &m.recipient,   &m.contact,        &m.list,        &m.subject,         &m.body,          &m.template_key}) {
    POSTRIDER_CHECK(is_storable(*text));
  }
  POSTRIDER_CHECK(JsonDocument::parse(m.payload, {.bytes_max = kPayloadBytesMax, .depth_max = kJsonDepthMax}));
  POSTRIDER_CHECK(m.type_data.empty() ||
                  JsonDocument::parse(m.type_data, {.bytes_max = kPayloadBytesMax, .depth_max = kJsonDepthMax}));
}

inline Template text_template(std::string key, std::string type, Channel channel, std::string_view body) {
  Template made{.key = std::move(key), .type = std::move(type), .channel = channel};
  made.texts.emplace_back();
  LocalText& text = made.texts.back();
  text.subject = CompiledText::compile("About {{name}}").value();
  text.body = CompiledText::compile(body).value();
  if (channel == Channel::Email) text.html = CompiledText::compile("<p>{{name}} {{{raw}}}</p>").value();
  return made;
}

/// Types "t" (all channels), "many" (lists of recipients) and "hook" (a configured URL).
inline Rules make_rules() {
  Rules rules;
  rules.tenants = {{1, "default", {}}, {2, "acme", {}}};
  for (const Channel channel : kChannels) {
    rules.templates.add(text_template("t", "t", channel, "Dear {{name}}, {{a.b}} {{& raw}}"));
  }
  rules.templates.add(text_template("many", "many", Channel::Email, "{{name}}"));
  rules.templates.add(text_template("many", "many", Channel::Sms, "{{name}}"));
  rules.routes.push_back({.type = "many",
                          .recipients = {{Channel::Email, "to", RecipientShape::Array},
                                         {Channel::Sms, "guest.phone", RecipientShape::Single},
                                         {Channel::Webhook, "hooks", RecipientShape::Array}}});
  rules.routes.push_back({.type = "hook", .lane = Lane::Bulk});
  rules.providers = {
      {.id = 1, .name = "mail", .channel = Channel::Email},
      {.id = 2, .name = "hook", .channel = Channel::Webhook, .fixed_recipient = "https://example.org/hook"}};
  rules.chains = {{Channel::Email, {1}}, {Channel::Webhook, {2}}};
  rules.index();
  return rules;
}

}  // namespace postrider::fuzz
