// The columns of the outbox that a client may fill, and where their values are.
#pragma once
#include <array>
#include <string>
#include <utility>

#include "postrider/outbox.h"

namespace postrider::client {

using Column = std::pair<const char*, std::string OutboxMessage::*>;
inline constexpr std::array<Column, 26> kColumns{{
    {"id", &OutboxMessage::id},
    {"type", &OutboxMessage::type},
    {"payload", &OutboxMessage::payload},
    {"tenant", &OutboxMessage::tenant},
    {"entity_id", &OutboxMessage::entity_id},
    {"version", &OutboxMessage::version},
    {"idempotency_key", &OutboxMessage::idempotency_key},
    {"lane", &OutboxMessage::lane},
    {"category", &OutboxMessage::category},
    {"locale", &OutboxMessage::locale},
    {"origin", &OutboxMessage::origin},
    {"topic", &OutboxMessage::topic},
    {"correlation_id", &OutboxMessage::correlation_id},
    {"traceparent", &OutboxMessage::traceparent},
    {"schema_version", &OutboxMessage::schema_version},
    {"occurred_at", &OutboxMessage::occurred_at},
    {"due_at", &OutboxMessage::due_at},
    {"expires_at", &OutboxMessage::expires_at},
    {"type_data", &OutboxMessage::type_data},
    {"channel", &OutboxMessage::channel},
    {"recipient", &OutboxMessage::recipient},
    {"contact", &OutboxMessage::contact},
    {"list", &OutboxMessage::list},
    {"subject", &OutboxMessage::subject},
    {"body", &OutboxMessage::body},
    {"template", &OutboxMessage::template_key},
}};

/// "type, payload, tenant" for the columns that have a value, and "$1, $2, $3" (or "?1, …") for as many parameters. A
/// column without a value is left out, so that the table's own default holds.
struct Insert {
  std::string names = {};
  std::string places = {};
  std::array<const std::string*, kColumns.size()> values = {};
  int count = 0;
};
inline Insert plan(const OutboxMessage& message, char mark) {
  Insert out;
  for (const auto& [name, field] : kColumns) {
    const std::string& value = message.*field;
    if (value.empty() && field != &OutboxMessage::type && field != &OutboxMessage::payload) continue;
    out.values[static_cast<std::size_t>(out.count++)] = &value;
    const char* const comma = out.count == 1 ? "" : ", ";
    out.names += comma;
    out.names += name;
    out.places += comma;
    out.places += mark;
    out.places += std::to_string(out.count);
  }
  return out;
}

}  // namespace postrider::client
