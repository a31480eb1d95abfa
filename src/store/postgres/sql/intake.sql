-- name: dedup_find
SELECT d.tenant, d.kind, d.hash, d.id, d.body, d.uuid
FROM unnest($1::int[], $2::smallint[], $3::uuid[]) AS k(tenant, kind, hash)
JOIN postrider.dedup d ON d.tenant = k.tenant AND d.kind = k.kind AND d.hash = k.hash

-- Sorted, so that two nodes that add the same keys wait for each other in one order and never in a circle.
-- name: dedup_add
INSERT INTO postrider.dedup (tenant, kind, hash, id, body, uuid)
SELECT * FROM unnest($1::int[], $2::smallint[], $3::uuid[], $4::bigint[], $5::uuid[], $6::uuid[]) AS k(tenant, kind, hash, id, body, uuid)
ORDER BY k.kind, k.tenant, k.hash
ON CONFLICT DO NOTHING RETURNING tenant, kind, hash

-- name: outbox_add
INSERT INTO postrider.outbox (accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane, category,
  locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site, source_instance,
  source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body, template)
SELECT k.accepted, k.id, k.tenant, k.topic, k.type, k.entity_id, k.version, k.idempotency_key, k.payload::json, decode(k.sealed, 'base64'),
  k.lane, k.category, k.locale, k.origin, k.correlation_id, k.traceparent, k.schema_version, k.occurred_at::timestamptz,
  k.due_at::timestamptz, k.expires_at::timestamptz, k.source_site, k.source_instance, k.source_script,
  k.site_enqueued_at::timestamptz, k.type_data::json, k.channel, k.recipient, k.contact, k.list, k.subject, k.body, k.template
FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
  $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[],
  $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[], $28::text[], $29::text[], $30::text[],
  $31::text[], $32::text[])
  AS k(accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane, category, locale, origin,
       correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site, source_instance, source_script,
       site_enqueued_at, type_data, channel, recipient, contact, list, subject, body, template)
