-- name: audit_add
INSERT INTO postrider_audit (at, actor, action, why, message, delivery, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: parked_of
SELECT tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at FROM postrider_parked WHERE id = ?1

-- name: deferred_of
SELECT due_at, tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at FROM postrider_deferred
WHERE id = ?1 AND channel <> 0

-- name: deferred_expand_of
SELECT due_at, lane, tenant, fence, attempt, detail FROM postrider_deferred WHERE id = ?1 AND channel = 0

-- name: deferred_ids_later
SELECT id FROM postrider_deferred
WHERE due_at > ?1 AND channel <> 0 AND (?2 IS NULL OR tenant = ?2) ORDER BY due_at, id LIMIT ?3

-- name: recipient_of
SELECT recipient FROM postrider_delivery WHERE id = ?1

-- name: delivery_group
SELECT lane, channel, tenant, message FROM postrider_delivery WHERE id = ?1

-- One that a node holds; once is enough. As for those that wait: at its own id, or behind it.
-- name: queue_mark_at_id
UPDATE postrider_queue SET cancel_reason = ?5, cancel_why = ?6
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND id = ?4 AND node <> 0 AND cancel_reason IS NULL

-- name: queue_find_held
SELECT position FROM postrider_queue
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND id = ?4 AND node <> 0 AND cancel_reason IS NULL LIMIT 1

-- name: queue_mark
UPDATE postrider_queue SET cancel_reason = ?6, cancel_why = ?7
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND id = ?5 AND node <> 0 AND cancel_reason IS NULL

-- name: suppressed_keys
SELECT d.id, d.tenant, d."key" FROM postrider_delivery d JOIN postrider_settled t ON t.id = d.id
WHERE d.message = ?1 AND t.state = 9 ORDER BY d.id

-- name: dedup_drop
DELETE FROM postrider_dedup WHERE tenant = ?1 AND kind = ?2 AND hash = ?3 AND id = ?4

-- What waits about one entity: ?1 tenant, ?2 entity, ?3 type (or null). An empty entity is none, and is in no index.
-- name: outbox_of_entity
SELECT position, accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane,
  category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site,
  source_instance, source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body,
  template
FROM postrider_outbox
WHERE entity_id = ?2 AND entity_id <> '' AND (?3 IS NULL OR type = ?3)
  AND coalesce(tenant, 'default') = (SELECT name FROM postrider_tenant WHERE id = ?1)
ORDER BY position LIMIT ?4

-- name: expanding_of_entity
SELECT m.id FROM postrider_message m CROSS JOIN postrider_message_state s ON s.message = m.id
WHERE m.tenant = ?1 AND m.entity_id = ?2 AND m.entity_id <> '' AND (?3 IS NULL OR m.type = ?3) AND s.state IN (1, 2)
ORDER BY m.id

-- name: deliveries_of_entity
SELECT d.id FROM postrider_message m CROSS JOIN postrider_delivery d ON d.message = m.id
WHERE m.tenant = ?1 AND m.entity_id = ?2 AND m.entity_id <> '' AND (?3 IS NULL OR m.type = ?3) AND d.id > ?4
ORDER BY d.id LIMIT ?5

-- name: deferred_drop_expand
DELETE FROM postrider_deferred WHERE id = ?1 AND channel = 0

-- name: queue_drop_expand
DELETE FROM postrider_queue WHERE lane IN (1, 2, 3) AND channel = 0 AND tenant = ?1 AND id = ?2
