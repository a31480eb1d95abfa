-- name: outbox_any
SELECT EXISTS (SELECT 1 FROM postrider_outbox)

-- name: outbox_take_priority
SELECT position, accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane,
  category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site,
  source_instance, source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body,
  template
FROM postrider_outbox WHERE lane = 'priority' ORDER BY position LIMIT ?1

-- name: outbox_take
SELECT position, accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane,
  category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site,
  source_instance, source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body,
  template
FROM postrider_outbox WHERE lane IS NOT 'priority' ORDER BY position LIMIT ?1

-- name: outbox_drop_one
DELETE FROM postrider_outbox WHERE position = ?1

-- Those of one expansion are the first ones, and the write lock is ours: nothing can have come between them.
-- name: outbox_drop
DELETE FROM postrider_outbox WHERE position <= ?1 AND lane IS NOT 'priority'

-- name: message_exists
SELECT 1 FROM postrider_message WHERE id = ?1

-- name: message_add
INSERT INTO postrider_message (id, uuid, tenant, accepted_at, tenant_name, topic, type, entity_id, version,
  idempotency_key, lane, category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at,
  expires_at, source_site, source_instance, source_script, site_enqueued_at, channel, recipient, contact, list,
  template, subject, type_data, body, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
  ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33)

-- name: message_state_put
INSERT OR REPLACE INTO postrider_message_state (message, tenant, state, reason, detail, at, attempts, cursor, skipped,
  as_of)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)

-- name: message_state_drop
DELETE FROM postrider_message_state WHERE message = ?1

-- name: message_state_of
SELECT tenant, state, reason, detail, at, attempts, cursor, skipped, as_of FROM postrider_message_state WHERE message = ?1

-- The writer is alone: nothing has to be locked.
-- name: message_state_locked
SELECT tenant, state, reason, detail, at, attempts, cursor, skipped, as_of FROM postrider_message_state WHERE message = ?1

-- name: secret_add
INSERT INTO postrider_secret (message, sealed) VALUES (?1, ?2)

-- name: secret_any
SELECT EXISTS (SELECT 1 FROM postrider_secret)

-- Only when nothing of the message can be sent any more: no delivery that is not settled, no expansion to come.
-- 1 pending, 2 expanding, 4 ignored, 6 failed (the last two can be replayed).
-- name: secret_drop_if_done
DELETE FROM postrider_secret WHERE message = ?1
  AND NOT EXISTS (SELECT 1 FROM postrider_message_state s WHERE s.message = ?1 AND s.state IN (1, 2, 4, 6))
  AND NOT EXISTS (SELECT 1 FROM postrider_delivery d WHERE d.message = ?1
                  AND NOT EXISTS (SELECT 1 FROM postrider_settled t WHERE t.id = d.id))

-- name: message_of_delivery
SELECT message FROM postrider_delivery WHERE id = ?1

-- name: delivery_add
INSERT INTO postrider_delivery (id, message, uuid, tenant, channel, lane, guarantee, type, origin, traceparent,
  recipient, "key", template, template_version, expires_at, warnings, subject, body, html, rendering,
  quiet, template_id, contact, category, locale)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)

-- name: delivery_of_message_any
SELECT EXISTS (SELECT 1 FROM postrider_delivery WHERE message = ?1)

-- name: queue_add
INSERT INTO postrider_queue (lane, channel, tenant, position, id, node, fence, attempt, provider, guarantee, claimed_at,
  expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)

-- Oldest first over all tenants; there are few such rows.
-- name: expand_pick
SELECT q.lane, q.channel, q.tenant, q.position, q.id, q.fence, q.attempt
FROM postrider_queue q CROSS JOIN postrider_message m ON m.id = q.id
WHERE q.lane = ?1 AND q.channel = 0 AND q.node = 0 ORDER BY q.position LIMIT ?2
