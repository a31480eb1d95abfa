-- name: outbox_any
SELECT 1 FROM postrider.outbox o WHERE o.position >= $1::bigint ORDER BY o.position LIMIT 1

-- Taken and removed at once: nothing is gone until the transaction ends. In no order. Rows that name the priority lane overtake where they
-- stand behind $3, which is as far as was looked for them before; the others are taken from $4 on. They are locked and reached all at once: one by
-- one, each would ask for the size of the table. The last column says how far it was looked now.
-- name: outbox_take
WITH urgent AS MATERIALIZED (
  SELECT o.ctid AS at FROM postrider.outbox o WHERE o.lane = 'priority' AND o.position >= $3::bigint
  ORDER BY o.position LIMIT $2::int FOR UPDATE SKIP LOCKED),
 others AS MATERIALIZED (
  SELECT o.ctid AS at FROM postrider.outbox o
  WHERE o.position >= $4::bigint AND (o.lane IS DISTINCT FROM 'priority' OR o.position < $3::bigint)
  ORDER BY o.position LIMIT $1::int - (SELECT count(*) FROM urgent) FOR UPDATE SKIP LOCKED)
DELETE FROM postrider.outbox o WHERE o.ctid = ANY(ARRAY(SELECT at FROM urgent UNION ALL SELECT at FROM others))
RETURNING o.position, o.accepted, o.id::text, o.tenant, o.topic, o.type, o.entity_id, o.version, o.idempotency_key, o.payload,
  replace(encode(o.sealed, 'base64'), E'\n', ''), o.lane, o.category, o.locale, o.origin, o.correlation_id, o.traceparent,
  o.schema_version, o.occurred_at, o.due_at, o.expires_at, o.source_site, o.source_instance, o.source_script, o.site_enqueued_at,
  o.type_data, o.channel, o.recipient, o.contact, o.list, o.subject, o.body, o.template,
  (SELECT l.position FROM postrider.outbox l ORDER BY l.position DESC LIMIT 1)

-- name: message_copy
COPY postrider.message (id, uuid, tenant, accepted_at, lane, channel, occurred_at, due_at, expires_at, site_enqueued_at, tenant_name,
  topic, type, entity_id, version, idempotency_key, category, locale, origin, correlation_id, traceparent, schema_version, source_site,
  source_instance, source_script, recipient, contact, list, template, subject, type_data, body, payload) FROM STDIN (FORMAT binary)

-- name: message_state_put_many
INSERT INTO postrider.message_state (message, tenant, state, reason, detail, at, attempts, cursor, skipped, as_of)
SELECT * FROM unnest($1::bigint[], $2::int[], $3::smallint[], $4::smallint[], $5::text[], $6::bigint[], $7::int[], $8::bigint[], $9::text[],
  $10::bigint[])
ON CONFLICT (message) DO UPDATE SET state = EXCLUDED.state, reason = EXCLUDED.reason, detail = EXCLUDED.detail, at = EXCLUDED.at,
  attempts = EXCLUDED.attempts, cursor = EXCLUDED.cursor, skipped = EXCLUDED.skipped, as_of = EXCLUDED.as_of

-- name: message_states_of
SELECT message, tenant, state, reason, detail, at, attempts, cursor, skipped, as_of FROM postrider.message_state
WHERE message = ANY($1::bigint[])

-- name: message_states_drop
DELETE FROM postrider.message_state WHERE message = ANY($1::bigint[])

-- name: message_state_drop
DELETE FROM postrider.message_state WHERE message = $1::bigint

-- name: message_state_of
SELECT tenant, state, reason, detail, at, attempts, cursor, skipped, as_of FROM postrider.message_state WHERE message = $1::bigint

-- name: message_state_locked
SELECT tenant, state, reason, detail, at, attempts, cursor, skipped, as_of FROM postrider.message_state WHERE message = $1::bigint FOR UPDATE

-- name: secret_add_many
INSERT INTO postrider.secret (message, sealed) SELECT * FROM unnest($1::bigint[], $2::text[]) ON CONFLICT DO NOTHING

-- Only when nothing of the message can be sent any more: no delivery that is not settled, no expansion to come.
-- 1 pending, 2 expanding, 4 ignored, 6 failed (the last two can be replayed).
-- name: secret_drop_of_deliveries
DELETE FROM postrider.secret s USING postrider.delivery x
WHERE x.id = ANY($1::bigint[]) AND s.message = x.message
  AND NOT EXISTS (SELECT 1 FROM postrider.message_state m WHERE m.message = s.message AND m.state IN (1, 2, 4, 6))
  AND NOT EXISTS (SELECT 1 FROM postrider.delivery d WHERE d.message = s.message
                  AND NOT EXISTS (SELECT 1 FROM postrider.settled t WHERE t.id = d.id))

-- The same for a few rows, which go to the server together with the COMMIT.
-- name: message_add
INSERT INTO postrider.message (id, uuid, tenant, accepted_at, lane, channel, occurred_at, due_at, expires_at, site_enqueued_at, tenant_name,
  topic, type, entity_id, version, idempotency_key, category, locale, origin, correlation_id, traceparent, schema_version, source_site,
  source_instance, source_script, recipient, contact, list, template, subject, type_data, body, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28,
  $29, $30, $31, $32, $33)

-- name: delivery_add
INSERT INTO postrider.delivery (id, message, uuid, tenant, channel, lane, guarantee, template_version, expires_at, type, origin, traceparent,
  recipient, key, template, warnings, subject, body, html, quiet, contact, category, locale, rendering, template_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)

-- name: delivery_copy
COPY postrider.delivery (id, message, uuid, tenant, channel, lane, guarantee, template_version, expires_at, type, origin, traceparent,
  recipient, key, template, warnings, subject, body, html, quiet, contact, category, locale, rendering, template_id) FROM STDIN (FORMAT binary)

-- name: queue_copy
COPY postrider.queue (lane, channel, tenant, position, id, node, fence, attempt, provider, guarantee, claimed_at, expires_at)
FROM STDIN (FORMAT binary)

-- name: deferred_add_many
INSERT INTO postrider.deferred (due_at, id, lane, channel, tenant, fence, attempt, guarantee, reason, expires_at, detail)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::smallint[], $5::int[], $6::int[], $7::smallint[], $8::smallint[],
  $9::smallint[], $10::bigint[], $11::text[])

-- name: settled_add_many
INSERT INTO postrider.settled (id, tenant, state, reason, detail, at)
SELECT * FROM unnest($1::bigint[], $2::int[], $3::smallint[], $4::smallint[], $5::text[], $6::bigint[]) ON CONFLICT DO NOTHING

-- name: expand_pick
WITH pick AS MATERIALIZED (
  SELECT q.ctid AS at FROM postrider.queue q WHERE q.lane = $1::smallint AND q.channel = 0 AND q.node = 0
  ORDER BY q.position LIMIT $2::int FOR UPDATE SKIP LOCKED)
UPDATE postrider.queue q SET node = $3::int, fence = q.fence + 1, attempt = q.attempt + 1, claimed_at = $4::bigint
FROM pick WHERE q.ctid = pick.at
RETURNING q.lane, q.tenant, q.position, q.id, q.fence, q.attempt

-- Locked until the chunk is written, so that nobody takes the work over in between.
-- name: queue_held
SELECT 1 FROM postrider.queue WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND position = $4::bigint
  AND id = $5::bigint AND fence = $6::int AND node <> 0 FOR UPDATE

-- name: queue_end
DELETE FROM postrider.queue WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND position = $4::bigint
  AND id = $5::bigint AND fence = $6::int AND node <> 0

-- The same for the work of many messages.
-- name: queue_held_many
SELECT k.id FROM unnest($1::smallint[], $2::smallint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])
  AS k(lane, channel, tenant, position, id, fence)
CROSS JOIN LATERAL (
  SELECT 1 FROM postrider.queue q
  WHERE q.lane = k.lane AND q.channel = k.channel AND q.tenant = k.tenant AND q.position = k.position AND q.id = k.id
    AND q.fence = k.fence AND q.node <> 0 FOR UPDATE) h

-- name: queue_end_many
WITH held AS MATERIALIZED (
  SELECT h.at FROM unnest($1::smallint[], $2::smallint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])
    AS k(lane, channel, tenant, position, id, fence)
  CROSS JOIN LATERAL (
    SELECT q.ctid AS at FROM postrider.queue q
    WHERE q.lane = k.lane AND q.channel = k.channel AND q.tenant = k.tenant AND q.position = k.position AND q.id = k.id
      AND q.fence = k.fence AND q.node <> 0) h)
DELETE FROM postrider.queue q USING held WHERE q.ctid = held.at

-- name: messages_with_deliveries
SELECT k.id FROM unnest($1::bigint[]) AS k(id)
CROSS JOIN LATERAL (SELECT 1 FROM postrider.delivery d WHERE d.message = k.id LIMIT 1) any_of_it

-- name: messages_existing
SELECT id FROM postrider.message WHERE id = ANY($1::bigint[])

-- name: message_state_put
INSERT INTO postrider.message_state (message, tenant, state, reason, detail, at, attempts, cursor, skipped, as_of)
VALUES ($1::bigint, $2::int, $3::smallint, $4::smallint, $5::text, $6::bigint, $7::int, $8::bigint, $9::text, $10::bigint)
ON CONFLICT (message) DO UPDATE SET state = EXCLUDED.state, reason = EXCLUDED.reason, detail = EXCLUDED.detail, at = EXCLUDED.at,
  attempts = EXCLUDED.attempts, cursor = EXCLUDED.cursor, skipped = EXCLUDED.skipped, as_of = EXCLUDED.as_of

-- name: queue_add
INSERT INTO postrider.queue (lane, channel, tenant, position, id, node, fence, attempt, provider, guarantee, claimed_at, expires_at)
VALUES ($1::smallint, $2::smallint, $3::int, $4::bigint, $5::bigint, $6::int, $7::int, $8::smallint, $9::smallint, $10::smallint,
  $11::bigint, $12::bigint)

-- name: deferred_add
INSERT INTO postrider.deferred (due_at, id, lane, channel, tenant, fence, attempt, guarantee, reason, expires_at, detail)
VALUES ($1::bigint, $2::bigint, $3::smallint, $4::smallint, $5::int, $6::int, $7::smallint, $8::smallint, $9::smallint, $10::bigint,
  $11::text)

-- name: settled_add
INSERT INTO postrider.settled (id, tenant, state, reason, detail, at)
VALUES ($1::bigint, $2::int, $3::smallint, $4::smallint, $5::text, $6::bigint) ON CONFLICT DO NOTHING

-- name: secret_any
SELECT EXISTS (SELECT 1 FROM postrider.secret)

-- name: secret_drop_if_done
DELETE FROM postrider.secret s WHERE s.message = $1::bigint
  AND NOT EXISTS (SELECT 1 FROM postrider.message_state m WHERE m.message = s.message AND m.state IN (1, 2, 4, 6))
  AND NOT EXISTS (SELECT 1 FROM postrider.delivery d WHERE d.message = s.message
                  AND NOT EXISTS (SELECT 1 FROM postrider.settled t WHERE t.id = d.id))

-- name: secrets_drop_if_done
DELETE FROM postrider.secret s WHERE s.message = ANY($1::bigint[])
  AND NOT EXISTS (SELECT 1 FROM postrider.message_state m WHERE m.message = s.message AND m.state IN (1, 2, 4, 6))
  AND NOT EXISTS (SELECT 1 FROM postrider.delivery d WHERE d.message = s.message
                  AND NOT EXISTS (SELECT 1 FROM postrider.settled t WHERE t.id = d.id))

-- name: message_of_delivery
SELECT message FROM postrider.delivery WHERE id = $1::bigint
