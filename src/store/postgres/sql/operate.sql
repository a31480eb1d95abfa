-- name: audit_add
INSERT INTO postrider.audit (at, actor, action, why, message, delivery, detail)
VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::text)

-- name: parked_of
SELECT tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at FROM postrider.parked WHERE id = $1::bigint FOR UPDATE

-- name: deferred_of
SELECT due_at, tenant, lane, channel, fence, attempt, guarantee, reason, detail, expires_at FROM postrider.deferred
WHERE id = $1::bigint AND channel <> 0 FOR UPDATE

-- name: deferred_ids_later
SELECT id FROM postrider.deferred WHERE due_at > $1::bigint AND channel <> 0 AND ($2::int IS NULL OR tenant = $2::int)
ORDER BY due_at, id LIMIT $3::int

-- name: delivery_group
SELECT lane, channel, tenant, message FROM postrider.delivery WHERE id = $1::bigint

-- name: suppressed_keys
SELECT d.id, d.tenant, d.key FROM postrider.delivery d JOIN postrider.settled t ON t.id = d.id
WHERE d.message = $1::bigint AND t.state = 9 ORDER BY d.id

-- name: dedup_drop
DELETE FROM postrider.dedup WHERE tenant = $1::int AND kind = $2::smallint AND hash = $3::uuid AND id = $4::bigint
