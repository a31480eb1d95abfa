-- name: due_next
SELECT min(due_at) FROM postrider_deferred

-- name: due_pick
SELECT due_at, id, lane, channel, tenant, fence, attempt, guarantee, expires_at FROM postrider_deferred
WHERE due_at <= ?1 ORDER BY due_at, id LIMIT ?2

-- name: deferred_end
DELETE FROM postrider_deferred WHERE due_at = ?1 AND id = ?2

-- name: orphans
SELECT lane, channel, tenant, position, id, fence, attempt, provider, claimed_at FROM postrider_queue q
WHERE node <> 0 AND node NOT IN (SELECT id FROM postrider_node)
  AND (channel = 0 OR EXISTS (SELECT 1 FROM postrider_delivery d WHERE d.id = q.id))
LIMIT ?1

-- Looked for by a reader, taken by the writer: the row is taken only if it still is what the reader saw.
-- name: orphan_take
UPDATE postrider_queue SET node = ?5, fence = fence + 1
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND fence = ?6
  AND node <> 0 AND node NOT IN (SELECT id FROM postrider_node)

-- name: orphan_release
UPDATE postrider_queue SET node = 0, fence = fence + 1, provider = 0, claimed_at = NULL
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND fence = ?5
  AND node <> 0 AND node NOT IN (SELECT id FROM postrider_node)

-- name: expired_queue
SELECT lane, channel, tenant, position, id FROM postrider_queue
WHERE expires_at <= ?1 AND node = 0 AND channel <> 0 LIMIT ?2

-- name: expired_queue_drop
DELETE FROM postrider_queue WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND node = 0

-- name: expired_deferred
SELECT id, tenant FROM postrider_deferred WHERE expires_at <= ?1 AND channel <> 0 ORDER BY due_at, id LIMIT ?2

-- name: expired_parked
SELECT id, tenant FROM postrider_parked WHERE expires_at <= ?1 ORDER BY id LIMIT ?2
