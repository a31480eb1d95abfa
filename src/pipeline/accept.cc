#include "pipeline/accept.h"

#include "base/canary.h"

namespace postrider {

std::variant<IntakeGroup, RefusedMessage> prepare(std::vector<OutboxRow> rows, const Rules& rules, Instant now,
                                                  Prng& random) {
  IntakeGroup group;
  group.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OutboxRow& row = rows[i];
    const Judgement judged = judge_row(row);
    if (judged.refusal) return RefusedMessage{i, *judged.refusal};
    const Tenant* tenant = rules.tenant(row.tenant);
    if (tenant == nullptr)
      return RefusedMessage{i, {Reason::UnknownTenant, "tenant", "\"" + row.tenant + "\" is not configured here"}};
    if (judged.expires_at && *judged.expires_at <= now) {
      return RefusedMessage{i, {Reason::Expired, "expires_at", "has already passed"}};
    }
    const bool fresh = row.id.empty();
    const Uuid uuid = fresh ? make_checked_uuid7(now, random.next(), random.next()) : *parse_uuid(row.id);
    if (fresh) row.id = format_uuid(uuid);
    NewMessage& message = group.emplace_back();
    message.tenant = tenant->id;
    message.candidate = {.tenant = tenant->id, .uuid = uuid, .fresh = fresh};
    if (!row.idempotency_key.empty())
      message.candidate.key = dedup_message(canary("key_without_tenant") ? 0 : tenant->id, row.idempotency_key);
    if (!message.candidate.repeats_nothing()) message.candidate.body = body_hash(row);
    message.row = std::move(row);
  }
  return group;
}

}  // namespace postrider
