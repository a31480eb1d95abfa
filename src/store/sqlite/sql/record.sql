-- A row that is held under this fence; the statements after it are in the same transaction. (Asking first and writing
-- then costs 4.7 us a row, INSERT ... SELECT 5.5, DELETE ... RETURNING 6.1.)
-- name: queue_held
SELECT node, attempt, provider, cancel_reason, cancel_why FROM postrider_queue
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND id = ?5 AND fence = ?6 AND node <> 0

-- name: queue_drop
DELETE FROM postrider_queue WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4

-- name: attempt_add
INSERT INTO postrider_attempt (delivery, fence, seq, attempt, node, provider, outcome, reason, provider_message_id,
  excerpt, started_at, ended_at)
VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
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
INSERT INTO postrider_settled (id, tenant, state, reason, detail, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

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
