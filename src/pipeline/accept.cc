#include "pipeline/accept.h"

#include "base/canary.h"

namespace postrider {

std::variant<IntakeGroup, RefusedMessage> prepare(std::vector<OutboxRow> rows, const Rules& rules, Instant now,
                                                  Prng& random) {
  IntakeGroup group;
  group.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OutboxRow& row = rows[i];
    Reading reading = read_row(row);
    if (reading.refusal) return RefusedMessage{i, *reading.refusal};
    const Tenant* tenant = rules.tenant(row.tenant);
    if (tenant == nullptr)
      return RefusedMessage{i, {Reason::UnknownTenant, "tenant", "\"" + row.tenant + "\" is not configured here"}};
    if (reading.message.expires_at && *reading.message.expires_at <= now) {
      return RefusedMessage{i, {Reason::Expired, "expires_at", "has already passed"}};
    }
    const Hash128 body = body_hash(row);
    const bool fresh = row.id.empty();
    if (fresh) row.id = format_uuid(make_uuid7(now, random.next(), random.next()));
    NewMessage message;
    message.tenant = tenant->id;
    message.candidate = {.tenant = tenant->id, .uuid = *parse_uuid(row.id), .body = body, .fresh = fresh};
    if (!row.idempotency_key.empty())
      message.candidate.key = dedup_message(canary("key_without_tenant") ? 0 : tenant->id, row.idempotency_key);
    message.row = std::move(row);
    group.push_back(std::move(message));
  }
  return group;
}

}  // namespace postrider
