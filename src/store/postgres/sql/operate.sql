-- name: audit_add
INSERT INTO postrider.audit (at, actor, action, why, message, delivery, detail)
VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::text)

-- name: parked_of
SELECT tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at FROM postrider.parked WHERE id = $1::bigint FOR UPDATE

-- name: deferred_of
SELECT due_at, tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at FROM postrider.deferred
WHERE id = $1::bigint AND channel <> 0 FOR UPDATE

-- name: deferred_expand_of
SELECT due_at, lane, tenant, fence, attempt, detail FROM postrider.deferred WHERE id = $1::bigint AND channel = 0 FOR UPDATE

-- name: deferred_ids_later
SELECT id FROM postrider.deferred WHERE due_at > $1::bigint AND channel <> 0 AND ($2::int IS NULL OR tenant = $2::int)
ORDER BY due_at, id LIMIT $3::int

-- name: recipient_of
SELECT recipient FROM postrider.delivery WHERE id = $1::bigint

-- name: delivery_group
SELECT lane, channel, tenant, message FROM postrider.delivery WHERE id = $1::bigint

-- One that a node holds; once is enough. As for those that wait: at its own id, or behind it.
-- name: queue_mark_at_id
UPDATE postrider.queue SET cancel_reason = $5::smallint, cancel_why = $6::text
WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND position = $4::bigint AND id = $4::bigint
  AND node <> 0 AND cancel_reason IS NULL

-- name: queue_find_held
SELECT position FROM postrider.queue
WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND id = $4::bigint AND node <> 0 AND cancel_reason IS NULL LIMIT 1

-- name: queue_mark
UPDATE postrider.queue SET cancel_reason = $6::smallint, cancel_why = $7::text
WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND position = $4::bigint AND id = $5::bigint
  AND node <> 0 AND cancel_reason IS NULL

-- name: suppressed_keys
SELECT d.id, d.tenant, d.key FROM postrider.delivery d JOIN postrider.settled t ON t.id = d.id
WHERE d.message = $1::bigint AND t.state = 9 ORDER BY d.id

-- name: dedup_drop
DELETE FROM postrider.dedup WHERE tenant = $1::int AND kind = $2::smallint AND hash = $3::uuid AND id = $4::bigint

-- What waits about one entity: $1 tenant, $2 entity, $3 type (or null). An empty entity is none, and is in no index.
-- Rows that an engine has in its hands are waited for, not skipped: it makes deliveries of them, and those are looked for next.
-- name: outbox_take_entity
WITH pick AS MATERIALIZED (
  SELECT o.ctid AS at FROM postrider.outbox o
  WHERE o.entity_id = $2::text AND o.entity_id <> '' AND ($3::text IS NULL OR o.type = $3::text)
    AND coalesce(o.tenant, 'default') = (SELECT name FROM postrider.tenant WHERE id = $1::int)
  ORDER BY o.position LIMIT $4::int FOR UPDATE)
DELETE FROM postrider.outbox o USING pick WHERE o.ctid = pick.at
RETURNING o.position, o.accepted, o.id::text, o.tenant, o.topic, o.type, o.entity_id, o.version, o.idempotency_key, o.payload,
  replace(encode(o.sealed, 'base64'), E'\n', ''), o.lane, o.category, o.locale, o.origin, o.correlation_id, o.traceparent,
  o.schema_version, o.occurred_at, o.due_at, o.expires_at, o.source_site, o.source_instance, o.source_script, o.site_enqueued_at,
  o.type_data, o.channel, o.recipient, o.contact, o.list, o.subject, o.body, o.template

-- name: expanding_of_entity
SELECT m.id FROM postrider.message m JOIN postrider.message_state s ON s.message = m.id
WHERE m.tenant = $1::int AND m.entity_id = $2::text AND m.entity_id <> '' AND ($3::text IS NULL OR m.type = $3::text) AND s.state IN (1, 2)
ORDER BY m.id

-- name: deliveries_of_entity
SELECT d.id FROM postrider.message m JOIN postrider.delivery d ON d.message = m.id
WHERE m.tenant = $1::int AND m.entity_id = $2::text AND m.entity_id <> '' AND ($3::text IS NULL OR m.type = $3::text) AND d.id > $4::bigint
ORDER BY d.id LIMIT $5::int

-- name: deferred_drop_expand
DELETE FROM postrider.deferred WHERE id = $1::bigint AND channel = 0

-- name: queue_drop_expand
DELETE FROM postrider.queue WHERE lane IN (1, 2, 3) AND channel = 0 AND tenant = $1::int AND id = $2::bigint
