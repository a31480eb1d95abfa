-- name: message_find
SELECT id, tenant FROM postrider.dedup WHERE tenant = $1::int AND kind = 1 AND hash = $2::uuid

-- Each tenant is one look-up; there is no index over all of them.
-- name: message_find_any
SELECT d.id, d.tenant FROM (SELECT 0 AS id UNION ALL SELECT id FROM postrider.tenant) t
JOIN postrider.dedup d ON d.tenant = t.id AND d.kind = 1 AND d.hash = $1::uuid ORDER BY d.id LIMIT 1

-- name: message_of
SELECT m.id, m.uuid, m.tenant, m.accepted_at, m.tenant_name, m.topic, m.type, m.entity_id, m.version,
  m.idempotency_key, m.lane, m.category, m.locale, m.origin, m.correlation_id, m.traceparent, m.schema_version,
  m.occurred_at, m.due_at, m.expires_at, m.source_site, m.source_instance, m.source_script, m.site_enqueued_at,
  m.channel, m.recipient, m.contact, m.list, m.template, m.subject, m.type_data, m.body, m.payload, s.sealed
FROM postrider.message m LEFT JOIN postrider.secret s ON s.message = m.id WHERE m.id = $1::bigint

-- name: messages_of
SELECT m.id, m.uuid, m.tenant, m.accepted_at, m.tenant_name, m.topic, m.type, m.entity_id, m.version,
  m.idempotency_key, m.lane, m.category, m.locale, m.origin, m.correlation_id, m.traceparent, m.schema_version,
  m.occurred_at, m.due_at, m.expires_at, m.source_site, m.source_instance, m.source_script, m.site_enqueued_at,
  m.channel, m.recipient, m.contact, m.list, m.template, m.subject, m.type_data, m.body, m.payload, s.sealed
FROM postrider.message m LEFT JOIN postrider.secret s ON s.message = m.id WHERE m.id = ANY($1::bigint[])

-- name: message_brief
SELECT accepted_at, entity_id FROM postrider.message WHERE id = $1::bigint

-- name: message_next_attempt
SELECT due_at FROM postrider.deferred WHERE id = $1::bigint AND channel = 0

-- name: outbox_by_accepted
SELECT o.position, o.accepted, o.id::text, o.tenant, o.topic, o.type, o.entity_id, o.version, o.idempotency_key, o.payload::text,
  replace(encode(o.sealed, 'base64'), E'\n', ''), o.lane, o.category, o.locale, o.origin, o.correlation_id, o.traceparent,
  o.schema_version, CASE WHEN isfinite(o.occurred_at) THEN '@' || (extract(epoch FROM o.occurred_at) * 1000000)::bigint::text ELSE o.occurred_at::text END,
  CASE WHEN isfinite(o.due_at) THEN '@' || (extract(epoch FROM o.due_at) * 1000000)::bigint::text ELSE o.due_at::text END, CASE WHEN isfinite(o.expires_at) THEN '@' || (extract(epoch FROM o.expires_at) * 1000000)::bigint::text ELSE o.expires_at::text END,
  o.source_site, o.source_instance, o.source_script, CASE WHEN isfinite(o.site_enqueued_at) THEN '@' || (extract(epoch FROM o.site_enqueued_at) * 1000000)::bigint::text ELSE o.site_enqueued_at::text END,
  o.type_data::text, o.channel, o.recipient, o.contact, o.list, o.subject, o.body, o.template
FROM postrider.outbox o WHERE o.accepted = $1::bigint ORDER BY o.position LIMIT 1

-- name: outbox_by_id
SELECT o.position, o.accepted, o.id::text, o.tenant, o.topic, o.type, o.entity_id, o.version, o.idempotency_key, o.payload::text,
  replace(encode(o.sealed, 'base64'), E'\n', ''), o.lane, o.category, o.locale, o.origin, o.correlation_id, o.traceparent,
  o.schema_version, CASE WHEN isfinite(o.occurred_at) THEN '@' || (extract(epoch FROM o.occurred_at) * 1000000)::bigint::text ELSE o.occurred_at::text END,
  CASE WHEN isfinite(o.due_at) THEN '@' || (extract(epoch FROM o.due_at) * 1000000)::bigint::text ELSE o.due_at::text END, CASE WHEN isfinite(o.expires_at) THEN '@' || (extract(epoch FROM o.expires_at) * 1000000)::bigint::text ELSE o.expires_at::text END,
  o.source_site, o.source_instance, o.source_script, CASE WHEN isfinite(o.site_enqueued_at) THEN '@' || (extract(epoch FROM o.site_enqueued_at) * 1000000)::bigint::text ELSE o.site_enqueued_at::text END,
  o.type_data::text, o.channel, o.recipient, o.contact, o.list, o.subject, o.body, o.template
FROM postrider.outbox o WHERE o.id = $1::uuid ORDER BY o.position

-- Without contents: up to 20,000 rows are looked at.
-- name: outbox_newest
SELECT o.position, o.accepted, o.id::text, o.tenant, o.topic, o.type, o.entity_id, o.version, o.idempotency_key, '',
  '', o.lane, o.category, o.locale, o.origin, o.correlation_id, o.traceparent,
  o.schema_version, CASE WHEN isfinite(o.occurred_at) THEN '@' || (extract(epoch FROM o.occurred_at) * 1000000)::bigint::text ELSE o.occurred_at::text END,
  CASE WHEN isfinite(o.due_at) THEN '@' || (extract(epoch FROM o.due_at) * 1000000)::bigint::text ELSE o.due_at::text END, CASE WHEN isfinite(o.expires_at) THEN '@' || (extract(epoch FROM o.expires_at) * 1000000)::bigint::text ELSE o.expires_at::text END,
  o.source_site, o.source_instance, o.source_script, CASE WHEN isfinite(o.site_enqueued_at) THEN '@' || (extract(epoch FROM o.site_enqueued_at) * 1000000)::bigint::text ELSE o.site_enqueued_at::text END,
  '', o.channel, o.recipient, o.contact, o.list, '', '', o.template
FROM postrider.outbox o ORDER BY o.position DESC LIMIT $1::int

-- name: delivery_of
SELECT id, message, uuid, tenant, channel, lane, guarantee, type, origin, traceparent, recipient, key, template,
  template_version, expires_at, warnings, subject, body, html, rendering, quiet, template_id, contact, category, locale
FROM postrider.delivery WHERE id = $1::bigint

-- name: deliveries_of_message
SELECT id FROM postrider.delivery WHERE message = $1::bigint AND id > $2::bigint ORDER BY id LIMIT $3::int

-- How many of a message's deliveries are where, and how many of the deferred wait for their first time (reason 2). What is in none of the
-- three is in the queue: 1, of which those that are being sent are counted apart.
-- name: count_deliveries
SELECT x.state, count(*), count(*) FILTER (WHERE x.scheduled) FROM (
  SELECT CASE WHEN t.id IS NOT NULL THEN t.state WHEN p.id IS NOT NULL THEN 6 WHEN f.id IS NOT NULL THEN 5 ELSE 1 END AS state,
    coalesce(f.reason = 2, false) AS scheduled
  FROM postrider.delivery d
  LEFT JOIN postrider.settled t ON t.id = d.id
  LEFT JOIN postrider.parked p ON p.id = d.id
  LEFT JOIN postrider.deferred f ON f.id = d.id
  WHERE d.message = $1::bigint) x
GROUP BY x.state ORDER BY x.state

-- Few are being sent; each is one look-up.
-- name: count_sending
SELECT count(*) FROM postrider.queue q
WHERE q.node <> 0 AND q.channel <> 0 AND EXISTS (SELECT 1 FROM postrider.delivery d WHERE d.id = q.id AND d.message = $1::bigint)

-- Where a delivery is. It is in one of the four; the queue is looked at only where a new delivery stands (its own id).
-- name: place_of
SELECT t.state, t.reason, t.detail, t.at,
  p.attempt, p.reason, p.detail, p.at,
  f.attempt, f.reason, f.detail, f.due_at,
  q.attempt, q.node, q.provider, q.claimed_at, q.cancel_reason, q.cancel_why
FROM (SELECT $1::bigint AS id) d
LEFT JOIN postrider.settled t ON t.id = d.id
LEFT JOIN postrider.parked p ON p.id = d.id
LEFT JOIN postrider.deferred f ON f.id = d.id
LEFT JOIN postrider.queue q ON q.lane = $2::smallint AND q.channel = $3::smallint AND q.tenant = $4::int AND q.position = $1::bigint AND q.id = $1::bigint

-- Behind its own id only where it was promoted or queued again.
-- name: queue_of
SELECT attempt, node, provider, claimed_at, cancel_reason, cancel_why FROM postrider.queue
WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND id = $4::bigint LIMIT 1

-- name: attempt_last
SELECT attempt FROM postrider.attempt WHERE delivery = $1::bigint ORDER BY fence DESC, seq DESC LIMIT 1

-- name: attempts_of
SELECT a.attempt, a.fence, a.seq, coalesce(p.name, ''), a.outcome, a.reason, a.provider_message_id, a.excerpt,
  a.started_at, a.ended_at
FROM postrider.attempt a LEFT JOIN postrider.provider p ON p.id = a.provider
WHERE a.delivery = $1::bigint ORDER BY a.fence, a.seq

-- name: provider_name
SELECT name FROM postrider.provider WHERE id = $1::int

-- Ids for a page of the list, newest first, by the narrowest way there is. $1 tenant (or null), $2 from, $3 before,
-- $4 type (or null), $5 channel (or null), $6 recipient or entity (or null), $7 how many, $8 state.
-- name: ids_all
SELECT d.id FROM postrider.delivery d
WHERE d.id >= $2::bigint AND d.id < $3::bigint AND ($4::text IS NULL OR d.type = $4::text) AND ($5::smallint IS NULL OR d.channel = $5::smallint)
ORDER BY d.id DESC LIMIT $7::int

-- name: ids_of_tenant
SELECT d.id FROM postrider.delivery d
WHERE d.tenant = $1::int AND d.id >= $2::bigint AND d.id < $3::bigint AND ($4::text IS NULL OR d.type = $4::text) AND ($5::smallint IS NULL OR d.channel = $5::smallint)
ORDER BY d.id DESC LIMIT $7::int

-- name: ids_of_recipient
SELECT d.id FROM postrider.delivery d
WHERE d.tenant IN (SELECT 0 WHERE $1::int IS NULL OR $1::int = 0 UNION ALL SELECT id FROM postrider.tenant WHERE $1::int IS NULL OR id = $1::int)
  AND d.recipient = $6::text AND d.id >= $2::bigint AND d.id < $3::bigint
  AND ($4::text IS NULL OR d.type = $4::text) AND ($5::smallint IS NULL OR d.channel = $5::smallint)
ORDER BY d.id DESC LIMIT $7::int

-- name: ids_of_entity
SELECT d.id FROM postrider.message m JOIN postrider.delivery d ON d.message = m.id
WHERE m.tenant IN (SELECT 0 WHERE $1::int IS NULL OR $1::int = 0 UNION ALL SELECT id FROM postrider.tenant WHERE $1::int IS NULL OR id = $1::int)
  AND m.entity_id = $6::text AND m.entity_id <> '' AND d.id >= $2::bigint AND d.id < $3::bigint
  AND ($4::text IS NULL OR d.type = $4::text) AND ($5::smallint IS NULL OR d.channel = $5::smallint)
ORDER BY d.id DESC LIMIT $7::int

-- name: ids_of_bare_entity
SELECT m.id FROM postrider.message m
WHERE m.tenant IN (SELECT 0 WHERE $1::int IS NULL OR $1::int = 0 UNION ALL SELECT id FROM postrider.tenant WHERE $1::int IS NULL OR id = $1::int)
  AND m.entity_id = $6::text AND m.entity_id <> '' AND m.id >= $2::bigint AND m.id < $3::bigint
  AND NOT EXISTS (SELECT 1 FROM postrider.delivery d WHERE d.message = m.id)
ORDER BY m.id DESC LIMIT $7::int

-- name: ids_parked
SELECT x.id FROM postrider.parked x JOIN postrider.delivery d ON d.id = x.id
WHERE x.id >= $2::bigint AND x.id < $3::bigint AND ($1::int IS NULL OR x.tenant = $1::int) AND ($5::smallint IS NULL OR x.channel = $5::smallint)
  AND ($4::text IS NULL OR d.type = $4::text)
ORDER BY x.id DESC LIMIT $7::int

-- name: ids_deferred
SELECT x.id FROM postrider.deferred x JOIN postrider.delivery d ON d.id = x.id
WHERE x.id >= $2::bigint AND x.id < $3::bigint AND x.channel <> 0 AND ($1::int IS NULL OR x.tenant = $1::int) AND ($5::smallint IS NULL OR x.channel = $5::smallint)
  AND ($4::text IS NULL OR d.type = $4::text)
ORDER BY x.id DESC LIMIT $7::int

-- name: ids_queue
SELECT x.id FROM postrider.queue x JOIN postrider.delivery d ON d.id = x.id
WHERE x.id >= $2::bigint AND x.id < $3::bigint AND x.channel <> 0 AND (x.node <> 0) = ($8::smallint = 2)
  AND ($1::int IS NULL OR x.tenant = $1::int) AND ($5::smallint IS NULL OR x.channel = $5::smallint) AND ($4::text IS NULL OR d.type = $4::text)
ORDER BY x.id DESC LIMIT $7::int

-- name: ids_settled
SELECT x.id FROM postrider.settled x JOIN postrider.delivery d ON d.id = x.id
WHERE x.id >= $2::bigint AND x.id < $3::bigint AND x.state = $8::smallint AND ($1::int IS NULL OR x.tenant = $1::int)
  AND ($5::smallint IS NULL OR d.channel = $5::smallint) AND ($4::text IS NULL OR d.type = $4::text)
ORDER BY x.id DESC LIMIT $7::int

-- name: ids_of_message_state
SELECT d.id FROM postrider.message_state s JOIN postrider.delivery d ON d.message = s.message
WHERE s.state = $8::smallint AND ($1::int IS NULL OR s.tenant = $1::int) AND d.id >= $2::bigint AND d.id < $3::bigint
  AND ($4::text IS NULL OR d.type = $4::text) AND ($5::smallint IS NULL OR d.channel = $5::smallint)
ORDER BY d.id DESC LIMIT $7::int

-- name: ids_of_bare_messages
SELECT s.message FROM postrider.message_state s
WHERE s.message >= $2::bigint AND s.message < $3::bigint AND ($1::int IS NULL OR s.tenant = $1::int) AND ($8::smallint IS NULL OR s.state = $8::smallint)
  AND NOT EXISTS (SELECT 1 FROM postrider.delivery d WHERE d.message = s.message)
ORDER BY s.message DESC LIMIT $7::int

-- What was for one address, and what would have been. $1 tenant (or null), $2 from, $3 before.
-- name: addressed_floor
SELECT s.message FROM postrider.message_state s
WHERE s.message >= $2::bigint AND s.message < $3::bigint AND ($1::int IS NULL OR s.tenant = $1::int)
ORDER BY s.message DESC LIMIT 1 OFFSET $4::int

-- $4 type (or null), $5 address, $6 the same as it stands in JSON, $7 contacts [[tenant, key], …], $8 how many.
-- name: addressed_messages
SELECT s.message FROM postrider.message_state s JOIN postrider.message m ON m.id = s.message
WHERE s.message >= $2::bigint AND s.message < $3::bigint AND ($1::int IS NULL OR s.tenant = $1::int)
  AND ($4::text IS NULL OR m.type = $4::text)
  AND (m.recipient = $5::text OR strpos(m.payload, $6::text) > 0
       OR (m.tenant, m.contact) IN (SELECT (c->>0)::int, c->>1 FROM jsonb_array_elements($7::jsonb) c))
  AND NOT EXISTS (SELECT 1 FROM postrider.delivery d WHERE d.message = s.message)
ORDER BY s.message DESC LIMIT $8::int

-- A contact's deliveries for which there was no address.
-- name: addressed_contact
SELECT d.id FROM postrider.delivery d
WHERE d.tenant = $1::int AND d.contact = $2::text AND d.contact <> '' AND d.recipient = ''
  AND d.id >= $3::bigint AND d.id < $4::bigint AND ($5::text IS NULL OR d.type = $5::text)
ORDER BY d.id DESC LIMIT $6::int

-- name: addressed_outbox
SELECT o.position, o.accepted, o.id::text, o.tenant, o.topic, o.type, o.entity_id, o.version, o.idempotency_key, '',
  '', o.lane, o.category, o.locale, o.origin, o.correlation_id, o.traceparent,
  o.schema_version, CASE WHEN isfinite(o.occurred_at) THEN '@' || (extract(epoch FROM o.occurred_at) * 1000000)::bigint::text ELSE o.occurred_at::text END,
  CASE WHEN isfinite(o.due_at) THEN '@' || (extract(epoch FROM o.due_at) * 1000000)::bigint::text ELSE o.due_at::text END, CASE WHEN isfinite(o.expires_at) THEN '@' || (extract(epoch FROM o.expires_at) * 1000000)::bigint::text ELSE o.expires_at::text END,
  o.source_site, o.source_instance, o.source_script, CASE WHEN isfinite(o.site_enqueued_at) THEN '@' || (extract(epoch FROM o.site_enqueued_at) * 1000000)::bigint::text ELSE o.site_enqueued_at::text END,
  '', o.channel, o.recipient, o.contact, o.list, '', '', o.template
FROM (SELECT * FROM postrider.outbox ORDER BY position DESC LIMIT $1::int) o
WHERE o.recipient = $2::text OR strpos(o.payload::text, $3::text) > 0
  OR (coalesce(o.tenant, 'default'), o.contact) IN (
    SELECT t.name, c->>1 FROM jsonb_array_elements($4::jsonb) c JOIN postrider.tenant t ON t.id = (c->>0)::int)
ORDER BY o.position DESC

-- Messages by themselves. $5 has a bit for each state: 1 << state; what has no row among the states is expanded (3).
-- name: message_ids_all
SELECT m.id FROM postrider.message m LEFT JOIN postrider.message_state s ON s.message = m.id
WHERE $1::int IS NULL AND m.id >= $2::bigint AND m.id < $3::bigint AND ($5::int & (1 << coalesce(s.state, 3)::int)) <> 0
ORDER BY m.id DESC LIMIT $4::int

-- name: message_ids_of_tenant
SELECT m.id FROM postrider.message m LEFT JOIN postrider.message_state s ON s.message = m.id
WHERE m.tenant = $1::int AND m.id >= $2::bigint AND m.id < $3::bigint AND ($5::int & (1 << coalesce(s.state, 3)::int)) <> 0
ORDER BY m.id DESC LIMIT $4::int

-- name: message_ids_in_state
SELECT s.message FROM postrider.message_state s
WHERE ($1::int IS NULL OR s.tenant = $1::int) AND s.message >= $2::bigint AND s.message < $3::bigint
  AND ($5::int & (1 << s.state::int)) <> 0
ORDER BY s.message DESC LIMIT $4::int

-- The last accepted call stands for the delivery , at whichever provider.
-- name: sandbox
SELECT a.delivery, max(a.ended_at), coalesce(max(p.name), ''), count(*)
FROM postrider.attempt a JOIN postrider.delivery d ON d.id = a.delivery LEFT JOIN postrider.provider p ON p.id = a.provider
WHERE a.delivery < $1::bigint AND a.outcome = 1 AND a.provider = ANY($2::smallint[]) AND ($3::int IS NULL OR d.tenant = $3::int)
GROUP BY a.delivery ORDER BY a.delivery DESC LIMIT $4::int

-- name: stats_queue
SELECT count(*) FILTER (WHERE channel = 0), count(*) FILTER (WHERE channel <> 0 AND node = 0),
  count(*) FILTER (WHERE channel <> 0 AND node <> 0), min(position)
FROM postrider.queue WHERE $1::int IS NULL OR tenant = $1::int

-- name: stats_deferred
SELECT count(*) FILTER (WHERE channel = 0), count(*) FILTER (WHERE channel <> 0)
FROM postrider.deferred WHERE $1::int IS NULL OR tenant = $1::int

-- name: stats_parked
SELECT count(*) FROM postrider.parked WHERE $1::int IS NULL OR tenant = $1::int

-- A tenant's name that is not known counts as tenant 0.
-- name: stats_outbox
SELECT count(*) FROM postrider.outbox o
WHERE $1::int IS NULL OR $1::int = coalesce((SELECT t.id FROM postrider.tenant t WHERE t.name = coalesce(o.tenant, 'default')), 0)

-- name: stats_outbox_head
SELECT o.accepted, o.id FROM postrider.outbox o
WHERE $1::int IS NULL OR $1::int = coalesce((SELECT t.id FROM postrider.tenant t WHERE t.name = coalesce(o.tenant, 'default')), 0)
ORDER BY o.position LIMIT 1
