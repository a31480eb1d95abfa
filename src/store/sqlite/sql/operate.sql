-- name: audit_add
INSERT INTO postrider_audit (at, actor, action, why, message, delivery, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: parked_of
SELECT tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at FROM postrider_parked WHERE id = ?1

-- name: deferred_of
SELECT due_at, tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at FROM postrider_deferred
WHERE id = ?1 AND channel <> 0

-- name: deferred_ids_later
SELECT id FROM postrider_deferred
WHERE due_at > ?1 AND channel <> 0 AND (?2 IS NULL OR tenant = ?2) ORDER BY due_at, id LIMIT ?3

-- name: delivery_group
SELECT lane, channel, tenant, message FROM postrider_delivery WHERE id = ?1

-- name: suppressed_keys
SELECT d.id, d.tenant, d."key" FROM postrider_delivery d JOIN postrider_settled t ON t.id = d.id
WHERE d.message = ?1 AND t.state = 9 ORDER BY d.id

-- name: dedup_drop
DELETE FROM postrider_dedup WHERE tenant = ?1 AND kind = ?2 AND hash = ?3 AND id = ?4
