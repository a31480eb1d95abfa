-- One statement: the queue row goes, and only what the DELETE returns leaves an attempt and a new place. target: 1 settled, 2 deferred,
-- 3 parked. Rows that are not in the answer are stale.
-- name: record
WITH i AS (
  SELECT * FROM unnest($1::smallint[], $2::smallint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[], $7::smallint[], $8::smallint[],
    $9::smallint[], $10::bigint[], $11::smallint[], $12::smallint[], $13::bigint[], $14::text[], $15::bool[], $16::int[],
    $17::smallint[], $18::smallint[], $19::text[], $20::text[], $21::bigint[], $22::bigint[], $23::int[])
  AS u(lane, channel, tenant, position, id, fence, target, state, reason, due_at, attempt, guarantee, expires_at, detail, called,
       call_fence, outcome, call_reason, provider_message_id, excerpt, started_at, ended_at, n)),
 held AS MATERIALIZED (
  SELECT i.*, h.at FROM i CROSS JOIN LATERAL (
    SELECT q.ctid AS at FROM postrider.queue q
    WHERE q.lane = i.lane AND q.channel = i.channel AND q.tenant = i.tenant AND q.position = i.position AND q.id = i.id
      AND q.fence = i.fence AND q.node <> 0 FOR UPDATE) h),
 gone AS (
  DELETE FROM postrider.queue q USING held WHERE q.ctid = held.at
  RETURNING held.*, q.attempt AS call_attempt, q.node, q.provider),
 a AS (
  INSERT INTO postrider.attempt (delivery, fence, seq, attempt, node, provider, outcome, reason, provider_message_id, excerpt, started_at,
    ended_at)
  SELECT id, call_fence, 0, call_attempt, node, provider, outcome, call_reason, provider_message_id, excerpt, started_at, ended_at
  FROM gone WHERE called ON CONFLICT DO NOTHING),
 s AS (
  INSERT INTO postrider.settled (id, tenant, state, reason, detail, at)
  SELECT id, tenant, state, reason, detail, $24::bigint FROM gone WHERE target = 1 ON CONFLICT DO NOTHING),
 f AS (
  INSERT INTO postrider.deferred (due_at, id, lane, channel, tenant, fence, attempt, guarantee, reason, expires_at, detail)
  SELECT due_at, id, lane, channel, tenant, fence, attempt, guarantee, reason, expires_at, detail FROM gone WHERE target = 2),
 p AS (
  INSERT INTO postrider.parked (id, tenant, lane, channel, fence, attempt, guarantee, reason, detail, at, expires_at)
  SELECT id, tenant, lane, channel, fence, attempt, guarantee, reason, detail, $24::bigint, expires_at FROM gone WHERE target = 3)
SELECT n, EXISTS (SELECT 1 FROM postrider.secret) FROM gone

-- A batch that is recorded again because its answer was lost finds its own row and adds no second one.
-- name: attempt_add_late
INSERT INTO postrider.attempt (delivery, fence, seq, attempt, node, provider, outcome, reason, provider_message_id, excerpt, started_at, ended_at)
SELECT $1::bigint, $2::int, 1, $3::smallint, 0, $4::smallint, $5::smallint, $6::smallint, $7::text, $8::text, $9::bigint, $10::bigint
WHERE NOT EXISTS (SELECT 1 FROM postrider.attempt WHERE delivery = $1::bigint AND fence = $2::int AND seq = 0 AND outcome = $5::smallint
                  AND started_at = $9::bigint AND ended_at = $10::bigint)
ON CONFLICT DO NOTHING

-- name: deferred_drop
DELETE FROM postrider.deferred WHERE id = $1::bigint AND channel <> 0

-- name: parked_drop
DELETE FROM postrider.parked WHERE id = $1::bigint

-- A new delivery stands at its own id; one that was promoted or queued again stands behind it.
-- name: queue_drop_at_id
DELETE FROM postrider.queue WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND position = $4::bigint
  AND id = $4::bigint AND node = 0

-- name: queue_find_waiting
SELECT position FROM postrider.queue
WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND id = $4::bigint AND node = 0 LIMIT 1

-- name: queue_drop_waiting
DELETE FROM postrider.queue WHERE lane = $1::smallint AND channel = $2::smallint AND tenant = $3::int AND position = $4::bigint AND node = 0

-- name: is_settled
SELECT 1 FROM postrider.settled WHERE id = $1::bigint
