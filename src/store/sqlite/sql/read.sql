-- name: message_find
SELECT id, tenant FROM postrider_dedup WHERE tenant = ?1 AND kind = 1 AND hash = ?2

-- Each tenant is one look-up; there is no index over all of them.
-- name: message_find_any
SELECT d.id, d.tenant FROM (SELECT 0 AS id UNION ALL SELECT id FROM postrider_tenant) t
CROSS JOIN postrider_dedup d ON d.tenant = t.id AND d.kind = 1 AND d.hash = ?1 ORDER BY d.id LIMIT 1

-- name: message_of
SELECT m.id, m.uuid, m.tenant, m.accepted_at, m.tenant_name, m.topic, m.type, m.entity_id, m.version,
  m.idempotency_key, m.lane, m.category, m.locale, m.origin, m.correlation_id, m.traceparent, m.schema_version,
  m.occurred_at, m.due_at, m.expires_at, m.source_site, m.source_instance, m.source_script, m.site_enqueued_at,
  m.channel, m.recipient, m.contact, m.list, m.template, m.subject, m.type_data, m.body, m.payload, s.sealed
FROM postrider_message m LEFT JOIN postrider_secret s ON s.message = m.id WHERE m.id = ?1

-- name: message_brief
SELECT accepted_at, entity_id FROM postrider_message WHERE id = ?1

-- name: message_next_attempt
SELECT due_at FROM postrider_deferred WHERE id = ?1 AND channel = 0

-- name: outbox_by_accepted
SELECT position, accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane,
  category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site,
  source_instance, source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body,
  template
FROM postrider_outbox WHERE accepted = ?1 ORDER BY position LIMIT 1

-- name: outbox_by_id
SELECT position, accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane,
  category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site,
  source_instance, source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body,
  template
FROM postrider_outbox WHERE lower(CAST(id AS TEXT)) = ?1 ORDER BY position

-- Without contents: up to 20,000 rows are looked at.
-- name: outbox_newest
SELECT position, accepted, id, tenant, topic, type, entity_id, version, idempotency_key, '' AS payload, '' AS sealed, lane,
  category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site,
  source_instance, source_script, site_enqueued_at, '' AS type_data, channel, recipient, contact, list, subject, body,
  template
FROM postrider_outbox ORDER BY position DESC LIMIT ?1

-- name: delivery_of
SELECT id, message, uuid, tenant, channel, lane, guarantee, type, origin, traceparent, recipient, "key", template,
  template_version, expires_at, warnings, subject, body, html, rendering, quiet, template_id, contact, category, locale
FROM postrider_delivery WHERE id = ?1

-- name: deliveries_of_message
SELECT id FROM postrider_delivery WHERE message = ?1 AND id > ?2 ORDER BY id LIMIT ?3

-- How many of a message's deliveries are where, and how many of the deferred wait for their first time (reason 2). What
-- is in none of the three is in the queue: 1, of which those that are being sent are counted apart.
-- name: count_deliveries
SELECT CASE WHEN t.id IS NOT NULL THEN t.state WHEN p.id IS NOT NULL THEN 6 WHEN f.id IS NOT NULL THEN 5 ELSE 1 END,
  count(*), count(CASE WHEN f.reason = 2 THEN 1 END)
FROM postrider_delivery d
LEFT JOIN postrider_settled t ON t.id = d.id
LEFT JOIN postrider_parked p ON p.id = d.id
LEFT JOIN postrider_deferred f ON f.id = d.id
WHERE d.message = ?1 GROUP BY 1 ORDER BY 1

-- Few are being sent; each is one look-up.
-- name: count_sending
SELECT count(*) FROM postrider_queue q
WHERE q.node <> 0 AND q.channel <> 0 AND EXISTS (SELECT 1 FROM postrider_delivery d WHERE d.id = q.id AND d.message = ?1)

-- Where a delivery is. It is in one of the four; the queue is looked at only where a new delivery stands (its own id).
-- name: place_of
SELECT t.state, t.reason, t.detail, t.at,
  p.attempt, p.reason, p.detail, p.at,
  f.attempt, f.reason, f.detail, f.due_at,
  q.attempt, q.node, q.provider, q.claimed_at, q.cancel_reason, q.cancel_why
FROM (SELECT ?1 AS id) d
LEFT JOIN postrider_settled t ON t.id = d.id
LEFT JOIN postrider_parked p ON p.id = d.id
LEFT JOIN postrider_deferred f ON f.id = d.id
LEFT JOIN postrider_queue q ON q.lane = ?2 AND q.channel = ?3 AND q.tenant = ?4 AND q.position = ?1 AND q.id = ?1

-- Behind its own id only where it was promoted or queued again.
-- name: queue_of
SELECT attempt, node, provider, claimed_at, cancel_reason, cancel_why FROM postrider_queue
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND id = ?4 LIMIT 1

-- name: attempt_last
SELECT attempt FROM postrider_attempt WHERE delivery = ?1 ORDER BY fence DESC, seq DESC LIMIT 1

-- name: attempts_of
SELECT a.attempt, a.fence, a.seq, coalesce(p.name, ''), a.outcome, a.reason, a.provider_message_id, a.excerpt,
  a.started_at, a.ended_at
FROM postrider_attempt a LEFT JOIN postrider_provider p ON p.id = a.provider
WHERE a.delivery = ?1 ORDER BY a.fence, a.seq

-- name: provider_name
SELECT name FROM postrider_provider WHERE id = ?1

-- Ids for a page of the list, newest first, by the narrowest way there is. ?1 tenant (or null), ?2 from, ?3 before,
-- ?4 type (or null), ?5 channel (or null), ?6 recipient or entity (or null), ?7 how many, ?8 state (or null). Each names ?8:
-- SQLite refuses a value for a parameter that a statement does not have.
-- name: ids_all
SELECT d.id FROM postrider_delivery d
WHERE d.id >= ?2 AND d.id < ?3 AND (?4 IS NULL OR d.type = ?4) AND (?5 IS NULL OR d.channel = ?5)
  AND ?8 IS NULL
ORDER BY d.id DESC LIMIT ?7

-- name: ids_of_tenant
SELECT d.id FROM postrider_delivery d
WHERE d.tenant = ?1 AND d.id >= ?2 AND d.id < ?3 AND (?4 IS NULL OR d.type = ?4) AND (?5 IS NULL OR d.channel = ?5)
  AND ?8 IS NULL
ORDER BY d.id DESC LIMIT ?7

-- name: ids_of_recipient
SELECT d.id FROM postrider_delivery d
WHERE d.tenant IN (SELECT 0 WHERE ?1 IS NULL OR ?1 = 0
                   UNION ALL SELECT id FROM postrider_tenant WHERE ?1 IS NULL OR id = ?1)
  AND d.recipient = ?6 AND d.id >= ?2 AND d.id < ?3
  AND (?4 IS NULL OR d.type = ?4) AND (?5 IS NULL OR d.channel = ?5) AND (?8 IS NULL OR ?8 > 0)
ORDER BY d.id DESC LIMIT ?7

-- name: ids_of_entity
SELECT d.id FROM postrider_message m CROSS JOIN postrider_delivery d ON d.message = m.id
WHERE m.tenant IN (SELECT 0 WHERE ?1 IS NULL OR ?1 = 0
                   UNION ALL SELECT id FROM postrider_tenant WHERE ?1 IS NULL OR id = ?1)
  AND m.entity_id = ?6 AND m.entity_id <> '' AND d.id >= ?2 AND d.id < ?3
  AND (?4 IS NULL OR d.type = ?4) AND (?5 IS NULL OR d.channel = ?5) AND (?8 IS NULL OR ?8 > 0)
ORDER BY d.id DESC LIMIT ?7

-- name: ids_of_bare_entity
SELECT m.id FROM postrider_message m
WHERE m.tenant IN (SELECT 0 WHERE ?1 IS NULL OR ?1 = 0
                   UNION ALL SELECT id FROM postrider_tenant WHERE ?1 IS NULL OR id = ?1)
  AND m.entity_id = ?6 AND m.entity_id <> '' AND m.id >= ?2 AND m.id < ?3 AND (?8 IS NULL OR ?8 > 0)
  AND NOT EXISTS (SELECT 1 FROM postrider_delivery d WHERE d.message = m.id)
ORDER BY m.id DESC LIMIT ?7

-- name: ids_parked
SELECT x.id FROM postrider_parked x CROSS JOIN postrider_delivery d ON d.id = x.id
WHERE x.id >= ?2 AND x.id < ?3 AND (?1 IS NULL OR x.tenant = ?1) AND (?5 IS NULL OR x.channel = ?5)
  AND (?4 IS NULL OR d.type = ?4) AND ?8 = 6
ORDER BY x.id DESC LIMIT ?7

-- name: ids_deferred
SELECT x.id FROM postrider_deferred x CROSS JOIN postrider_delivery d ON d.id = x.id
WHERE x.id >= ?2 AND x.id < ?3 AND x.channel <> 0 AND (?1 IS NULL OR x.tenant = ?1) AND (?5 IS NULL OR x.channel = ?5)
  AND (?4 IS NULL OR d.type = ?4) AND ?8 = 5
ORDER BY x.id DESC LIMIT ?7

-- name: ids_queue
SELECT x.id FROM postrider_queue x CROSS JOIN postrider_delivery d ON d.id = x.id
WHERE x.id >= ?2 AND x.id < ?3 AND x.channel <> 0 AND (x.node <> 0) = (?8 = 2)
  AND (?1 IS NULL OR x.tenant = ?1) AND (?5 IS NULL OR x.channel = ?5) AND (?4 IS NULL OR d.type = ?4)
ORDER BY x.id DESC LIMIT ?7

-- name: ids_settled
SELECT x.id FROM postrider_settled x CROSS JOIN postrider_delivery d ON d.id = x.id
WHERE x.id >= ?2 AND x.id < ?3 AND x.state = ?8 AND (?1 IS NULL OR x.tenant = ?1)
  AND (?5 IS NULL OR d.channel = ?5) AND (?4 IS NULL OR d.type = ?4)
ORDER BY x.id DESC LIMIT ?7

-- name: ids_of_message_state
SELECT d.id FROM postrider_message_state s CROSS JOIN postrider_delivery d ON d.message = s.message
WHERE s.state = ?8 AND (?1 IS NULL OR s.tenant = ?1) AND d.id >= ?2 AND d.id < ?3
  AND (?4 IS NULL OR d.type = ?4) AND (?5 IS NULL OR d.channel = ?5)
ORDER BY d.id DESC LIMIT ?7

-- name: ids_of_bare_messages
SELECT s.message FROM postrider_message_state s
WHERE s.message >= ?2 AND s.message < ?3 AND (?1 IS NULL OR s.tenant = ?1) AND (?8 IS NULL OR s.state = ?8)
  AND NOT EXISTS (SELECT 1 FROM postrider_delivery d WHERE d.message = s.message)
ORDER BY s.message DESC LIMIT ?7

-- What was for one address, and what would have been. ?1 tenant (or null), ?2 from, ?3 before.
-- name: addressed_floor
SELECT s.message FROM postrider_message_state s
WHERE s.message >= ?2 AND s.message < ?3 AND (?1 IS NULL OR s.tenant = ?1)
ORDER BY s.message DESC LIMIT 1 OFFSET ?4

-- ?4 type (or null), ?5 address, ?6 the same as it stands in JSON, ?7 contacts [[tenant, key], …], ?8 how many.
-- name: addressed_messages
SELECT s.message FROM postrider_message_state s CROSS JOIN postrider_message m ON m.id = s.message
WHERE s.message >= ?2 AND s.message < ?3 AND (?1 IS NULL OR s.tenant = ?1)
  AND (?4 IS NULL OR m.type = ?4)
  AND (m.recipient = ?5 OR instr(m.payload, ?6) > 0
       OR (m.tenant, m.contact) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?7)))
  AND NOT EXISTS (SELECT 1 FROM postrider_delivery d WHERE d.message = s.message)
ORDER BY s.message DESC LIMIT ?8

-- A contact's deliveries for which there was no address.
-- name: addressed_contact
SELECT d.id FROM postrider_delivery d
WHERE d.tenant = ?1 AND d.contact = ?2 AND d.contact <> '' AND d.recipient = ''
  AND d.id >= ?3 AND d.id < ?4 AND (?5 IS NULL OR d.type = ?5)
ORDER BY d.id DESC LIMIT ?6

-- name: addressed_outbox
SELECT position, accepted, id, tenant, topic, type, entity_id, version, idempotency_key, '' AS payload, '' AS sealed, lane,
  category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site,
  source_instance, source_script, site_enqueued_at, '' AS type_data, channel, recipient, contact, list, subject, body,
  template
FROM (SELECT * FROM postrider_outbox ORDER BY position DESC LIMIT ?1)
WHERE recipient = ?2 OR instr(payload, ?3) > 0
  OR (coalesce(tenant, 'default'), contact) IN (
    SELECT t.name, json_extract(c.value, '$[1]') FROM json_each(?4) c JOIN postrider_tenant t ON t.id = json_extract(c.value, '$[0]'))
ORDER BY position DESC

-- Messages by themselves. ?5 has a bit for each state: 1 << state; what has no row among the states is expanded (3).
-- name: message_ids_all
SELECT m.id FROM postrider_message m LEFT JOIN postrider_message_state s ON s.message = m.id
WHERE ?1 IS NULL AND m.id >= ?2 AND m.id < ?3 AND (?5 & (1 << coalesce(s.state, 3))) <> 0
ORDER BY m.id DESC LIMIT ?4

-- name: message_ids_of_tenant
SELECT m.id FROM postrider_message m LEFT JOIN postrider_message_state s ON s.message = m.id
WHERE m.tenant = ?1 AND m.id >= ?2 AND m.id < ?3 AND (?5 & (1 << coalesce(s.state, 3))) <> 0
ORDER BY m.id DESC LIMIT ?4

-- name: message_ids_in_state
SELECT s.message FROM postrider_message_state s
WHERE (?1 IS NULL OR s.tenant = ?1) AND s.message >= ?2 AND s.message < ?3 AND (?5 & (1 << s.state)) <> 0
ORDER BY s.message DESC LIMIT ?4

-- The last accepted call stands for the delivery (max() picks the row the other columns come from).
-- name: sandbox
SELECT a.delivery, max(a.ended_at), coalesce(p.name, ''), count(*)
FROM postrider_attempt a LEFT JOIN postrider_provider p ON p.id = a.provider
WHERE a.delivery < ?1 AND a.outcome = 1 AND a.provider IN (SELECT value FROM json_each(?2))
  AND (?3 IS NULL OR ?3 = (SELECT d.tenant FROM postrider_delivery d WHERE d.id = a.delivery))
GROUP BY a.delivery ORDER BY a.delivery DESC LIMIT ?4

-- name: stats_queue
SELECT count(*) FILTER (WHERE channel = 0), count(*) FILTER (WHERE channel <> 0 AND node = 0),
  count(*) FILTER (WHERE channel <> 0 AND node <> 0), min(position)
FROM postrider_queue WHERE ?1 IS NULL OR tenant = ?1

-- name: stats_deferred
SELECT count(*) FILTER (WHERE channel = 0), count(*) FILTER (WHERE channel <> 0)
FROM postrider_deferred WHERE ?1 IS NULL OR tenant = ?1

-- name: stats_parked
SELECT count(*) FROM postrider_parked WHERE ?1 IS NULL OR tenant = ?1

-- A tenant's name that is not known counts as tenant 0.
-- name: stats_outbox
SELECT count(*) FROM postrider_outbox o
WHERE ?1 IS NULL OR ?1 = coalesce((SELECT t.id FROM postrider_tenant t WHERE t.name = coalesce(o.tenant, 'default')), 0)

-- name: stats_outbox_head
SELECT o.accepted, o.id FROM postrider_outbox o
WHERE ?1 IS NULL OR ?1 = coalesce((SELECT t.id FROM postrider_tenant t WHERE t.name = coalesce(o.tenant, 'default')), 0)
ORDER BY o.position LIMIT 1
