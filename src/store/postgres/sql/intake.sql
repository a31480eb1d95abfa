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

-- The same where nobody asks what existed: a key that does ends the transaction.
-- name: dedup_add_new
INSERT INTO postrider.dedup (tenant, kind, hash, id, body, uuid)
SELECT * FROM unnest($1::int[], $2::smallint[], $3::uuid[], $4::bigint[], $5::uuid[], $6::uuid[]) AS k(tenant, kind, hash, id, body, uuid)
ORDER BY k.kind, k.tenant, k.hash

-- The same for many: rows that come in the order of their keys.
-- name: dedup_copy
COPY postrider.dedup (tenant, kind, hash, id, body, uuid) FROM STDIN (FORMAT binary)

-- Rows that wait under ids that were made here. There is no index for it: this walks over all that wait.
-- name: outbox_waiting
SELECT o.position, o.accepted, o.id::text, o.tenant, o.topic, o.type, o.entity_id, o.version, o.idempotency_key, o.payload,
  replace(encode(o.sealed, 'base64'), E'\n', ''), o.lane, o.category, o.locale, o.origin, o.correlation_id, o.traceparent,
  o.schema_version, o.occurred_at, o.due_at, o.expires_at, o.source_site, o.source_instance, o.source_script, o.site_enqueued_at,
  o.type_data, o.channel, o.recipient, o.contact, o.list, o.subject, o.body, o.template
FROM postrider.outbox o WHERE o.id = ANY($1::uuid[]) ORDER BY o.position

-- Column by column: a column of which nobody said anything is NULL as a whole. PostgreSQL walks to the element of a
-- text array, so the rows must be few (kTogether).
-- name: outbox_add_many
INSERT INTO postrider.outbox (accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane, category,
  locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site, source_instance,
  source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body, template)
SELECT ($1::bigint[])[i], ($2::uuid[])[i], ($3::text[])[i], ($4::text[])[i], ($5::text[])[i], ($6::text[])[i], ($7::text[])[i],
  ($8::text[])[i], ($9::json[])[i], ($10::bytea[])[i], ($11::text[])[i], ($12::text[])[i], ($13::text[])[i], ($14::text[])[i],
  ($15::text[])[i], ($16::text[])[i], ($17::text[])[i], ($18::timestamptz[])[i], ($19::timestamptz[])[i], ($20::timestamptz[])[i],
  ($21::text[])[i], ($22::text[])[i], ($23::text[])[i], ($24::timestamptz[])[i], ($25::json[])[i], ($26::text[])[i], ($27::text[])[i],
  ($28::text[])[i], ($29::text[])[i], ($30::text[])[i], ($31::text[])[i], ($32::text[])[i]
FROM generate_series(1, array_length($2::uuid[], 1)) AS i

-- name: outbox_add
INSERT INTO postrider.outbox (accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane, category,
  locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site, source_instance,
  source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body, template)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28,
  $29, $30, $31, $32)

-- name: outbox_copy
COPY postrider.outbox (accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane, category,
  locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site, source_instance,
  source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body, template) FROM STDIN (FORMAT binary)
