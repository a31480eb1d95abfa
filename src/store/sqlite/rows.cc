#include "store/sqlite/rows.h"

namespace postrider::sqlite {

void add_outbox_row(Connection& c, std::optional<RowId> accepted, const OutboxRow& r) {
  c.use("outbox_add")
      .run(accepted, r.id, r.tenant, r.topic, r.type, r.entity_id, r.version, r.idempotency_key, r.payload, r.sealed,
           r.lane, r.category, r.locale, r.origin, r.correlation_id, r.traceparent, r.schema_version, r.occurred_at,
           r.due_at, r.expires_at, r.source_site, r.source_instance, r.source_script, r.site_enqueued_at, r.type_data,
           r.channel, r.recipient, r.contact, r.list, r.subject, r.body, r.template_key);
}

void add_message(Connection& c, const Message& m) {
  c.use("message_add")
      .run(m.id, m.uuid, m.tenant, m.accepted_at, m.tenant_name, m.topic, m.type, m.entity_id, m.version,
           m.idempotency_key, m.lane, m.category, m.locale, m.origin, m.correlation_id, m.traceparent, m.schema_version,
           m.occurred_at, m.due_at, m.expires_at, m.source_site, m.source_instance, m.source_script, m.site_enqueued_at,
           m.channel, m.recipient, m.contact, m.list, m.template_key, m.subject, m.type_data, m.body, m.payload);
}

void add_delivery(Connection& c, const Delivery& d) {
  c.use("delivery_add")
      .run(d.id, d.message, d.message_uuid, d.tenant, d.channel, d.lane, d.guarantee, d.type, d.origin, d.traceparent,
           d.recipient, d.key, d.template_key, d.template_version, d.expires_at, d.warnings, d.subject, d.body, d.html,
           d.rendering, d.quiet, d.template_id, d.contact, d.category, d.locale);
}

std::optional<DedupEntry> find_dedup(Connection& c, const DedupKey& key) {
  Rows rows = c.use("dedup_find").query(key.tenant, key.kind, key.hash);
  if (!rows.next()) return std::nullopt;
  return DedupEntry{rows.integer(0), rows.maybe_hash(1), rows.maybe_uuid(2)};
}

bool add_dedup(Connection& c, const DedupKey& key, const DedupEntry& entry) {
  return c.use("dedup_add").run(key.tenant, key.kind, key.hash, entry.id, entry.body, entry.uuid) == 1;
}

}  // namespace postrider::sqlite
