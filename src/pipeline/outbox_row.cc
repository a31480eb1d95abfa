#include "pipeline/outbox_row.h"

#include "base/canary.h"

namespace postrider {

ExpandedMessage message_of_row(const OutboxRow& row, const RowReader& with) {
  Reading reading = read_row(row);
  ExpandedMessage out;
  out.message = std::move(reading.message);
  Message& m = out.message;
  m.id = row.accepted.value_or(0);
  if (m.id == 0) m.id = with.ids.next(with.now);
  if (m.uuid == Uuid{}) m.uuid = make_uuid7(with.now, with.random.next(), with.random.next());
  m.accepted_at = with.now;
  if (const Tenant* tenant = with.rules.tenant(m.tenant_name)) m.tenant = tenant->id;
  out.body = body_hash(row);
  if (!m.idempotency_key.empty())
    out.key = dedup_message(canary("key_without_tenant") ? 0 : m.tenant, m.idempotency_key);
  if (reading.refusal) {
    out.state = MessageState::Failed;
    out.reason = reading.refusal->reason;
    out.detail = reading.refusal->field + ": " + reading.refusal->detail;
  }
  return out;
}

ExpandDecision cancelling(const Rules& rules, IdSource& ids, Instant now, std::uint64_t seed, std::string why) {
  return [&rules, &ids, now, random = Prng{seed}, why = std::move(why)](std::span<const OutboxRow> rows) mutable {
    std::vector<ExpandedMessage> out;
    for (const OutboxRow& row : rows) {
      ExpandedMessage& made = out.emplace_back(message_of_row(row, {rules, ids, random, now}));
      if (made.state == MessageState::Failed) continue;
      made.state = MessageState::Cancelled;
      made.reason = Reason::CancelledWithEntity;
      made.detail = why;
    }
    return out;
  };
}

}  // namespace postrider
