-- The rows of a batch and what stands between them; the statements after it are in the same transaction. (Where they
-- stand side by side a walk and one DELETE cost 0.5 to 0.7 us a row; a SELECT and a DELETE for each 2.4 to 2.8, a
-- DELETE for each with the whole condition 1.4 to 1.7.)
-- name: queue_walk
SELECT position, id, fence, node, attempt, provider, cancel_reason, cancel_why FROM postrider_queue
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position BETWEEN ?4 AND ?5 ORDER BY position

-- name: queue_drop_run
DELETE FROM postrider_queue WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position BETWEEN ?4 AND ?5

-- A row that is held under this fence.
-- name: queue_held
SELECT node, attempt, provider, cancel_reason, cancel_why FROM postrider_queue
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND id = ?5 AND fence = ?6 AND node <> 0

-- name: queue_drop
DELETE FROM postrider_queue WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4

-- Without numbers, as for settled_add: the store also makes a form of each with many rows.
-- name: attempt_add
INSERT INTO postrider_attempt (delivery, fence, seq, attempt, node, provider, outcome, reason, provider_message_id,
  excerpt, started_at, ended_at)
VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- A batch that is recorded again because its answer was lost finds its own row and adds no second one.
-- name: attempt_add_late
INSERT INTO postrider_attempt (delivery, fence, seq, attempt, node, provider, outcome, reason, provider_message_id,
  excerpt, started_at, ended_at)
SELECT ?1, ?2, 1, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10
WHERE NOT EXISTS (SELECT 1 FROM postrider_attempt WHERE delivery = ?1 AND fence = ?2 AND seq = 0 AND outcome = ?5
                  AND started_at = ?9 AND ended_at = ?10)
ON CONFLICT DO NOTHING

-- name: deferred_add
INSERT INTO postrider_deferred (due_at, id, lane, channel, tenant, fence, attempt, guarantee, reason, expires_at,
  detail)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)

-- name: parked_add
INSERT INTO postrider_parked (id, tenant, lane, channel, fence, attempt, guarantee, reason, detail, at, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)

-- name: settled_add
INSERT INTO postrider_settled (id, tenant, state, reason, detail, at) VALUES (?, ?, ?, ?, ?, ?)

-- name: deferred_drop
DELETE FROM postrider_deferred WHERE id = ?1 AND channel <> 0

-- name: parked_drop
DELETE FROM postrider_parked WHERE id = ?1

-- A new delivery stands at its own id; one that was promoted or queued again stands behind it.
-- name: queue_drop_at_id
DELETE FROM postrider_queue WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND id = ?4 AND node = 0

-- name: queue_find_waiting
SELECT position FROM postrider_queue WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND id = ?4 AND node = 0 LIMIT 1

-- name: queue_drop_waiting
DELETE FROM postrider_queue WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND node = 0

-- name: is_settled
SELECT 1 FROM postrider_settled WHERE id = ?1

-- What was written late; the last one stays.
-- name: rendering_put
INSERT OR REPLACE INTO postrider_rendering (delivery, at, template_version, locale, subject, body, html, warnings)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: rendering_of
SELECT template_version, locale, subject, body, html, warnings FROM postrider_rendering WHERE delivery = ?1
