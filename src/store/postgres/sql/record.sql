-- The usual end, and most of all that is written: called, settled, nothing more to say. Ids are given in order, so that a row finds its place
-- in the arrays by halving; one excerpt stands for all where they say the same. Fence and node are seen again on a version that came in between. What is not in the answer is left to the statement
-- below. The store makes two forms: by place, where the claim saw the rows, and by the keys of one group.
-- name: record_settled
WITH gone AS (
  DELETE FROM postrider.queue q
  WHERE /* where */ AND q.node <> 0 AND q.id = ($1::bigint[])[width_bucket(q.id, $1::bigint[])]
    AND q.fence = ($2::int[])[width_bucket(q.id, $1::bigint[])]
  RETURNING width_bucket(q.id, $1::bigint[]) AS n, q.id, q.tenant, q.fence, q.attempt, q.node, q.provider),
 a AS (
  INSERT INTO postrider.attempt (delivery, fence, seq, attempt, node, provider, outcome, reason, provider_message_id, excerpt, started_at,
    ended_at)
  SELECT id, fence, 0, attempt, node, provider, ($5::smallint[])[n], ($6::smallint[])[n], ($9::text[])[n],
    ($10::text[])[least(n, cardinality($10::text[]))], ($7::bigint[])[n], ($8::bigint[])[n]
  FROM gone),
 s AS (
  INSERT INTO postrider.settled (id, tenant, state, reason, detail, at)
  SELECT id, tenant, ($3::smallint[])[n], ($4::smallint[])[n], '', $11::bigint FROM gone)
SELECT n::bigint, EXISTS (SELECT 1 FROM postrider.secret), false FROM gone

-- name: settled_by_place
q.ctid = ANY($12::tid[])

-- name: settled_by_key
q.lane = $12::smallint AND q.channel = $13::smallint AND q.tenant = $14::int AND q.position = ANY($15::bigint[])

-- One statement: the queue row goes, and only what the DELETE returns leaves an attempt and a new place. target: 1 settled, 2 deferred,
-- 3 parked; what was called off while it was held is settled where it would be deferred, and says so in the answer: as suppressed (9) by the
-- one it is for (70 opted_out, 71 suppressed_address), else as cancelled (8). state_when_called_off() is the same in C++.
-- Rows that are not in the answer were not found. Arrays of fixed width are read by subscript, which costs next to nothing; only
-- texts are unnested. No row is locked first: if a take-over changes one in between, its fence is seen again on the new version.
-- The store makes three forms of it: by place (where the claim saw the row), by key, and by key with the conflict clauses in force for the
-- batch that finds a row already there.
-- name: record
WITH gone AS (
  DELETE FROM postrider.queue q USING /* held */
  WHERE q.ctid = held.at AND q.id = ($5::bigint[])[held.n] AND q.fence = ($6::int[])[held.n] AND q.node <> 0
  RETURNING held.n, held.detail, held.provider_message_id, held.excerpt, q.attempt, q.node, q.provider, q.guarantee, q.expires_at,
    q.cancel_reason, q.cancel_why, ($7::smallint[])[held.n] = 2 AND q.cancel_reason IS NOT NULL AS cancelled),
 a AS (
  INSERT INTO postrider.attempt (delivery, fence, seq, attempt, node, provider, outcome, reason, provider_message_id, excerpt, started_at,
    ended_at)
  SELECT ($5::bigint[])[n], ($13::int[])[n], 0, attempt, node, provider, ($14::smallint[])[n], ($15::smallint[])[n], provider_message_id,
    excerpt, ($16::bigint[])[n], ($17::bigint[])[n]
  FROM gone WHERE ($12::bool[])[n] /* ON CONFLICT DO NOTHING */),
 s AS (
  INSERT INTO postrider.settled (id, tenant, state, reason, detail, at)
  SELECT ($5::bigint[])[n], ($3::int[])[n], CASE WHEN NOT cancelled THEN ($8::smallint[])[n] WHEN cancel_reason IN (70, 71) THEN 9 ELSE 8 END,
    CASE WHEN cancelled THEN cancel_reason ELSE ($9::smallint[])[n] END, CASE WHEN cancelled THEN cancel_why ELSE detail END, $21::bigint
  FROM gone WHERE ($7::smallint[])[n] = 1 OR cancelled /* ON CONFLICT DO NOTHING */),
 f AS (
  INSERT INTO postrider.deferred (due_at, id, lane, channel, tenant, fence, attempt, guarantee, reason, expires_at, detail)
  SELECT ($10::bigint[])[n], ($5::bigint[])[n], ($1::smallint[])[n], ($2::smallint[])[n], ($3::int[])[n], ($6::int[])[n],
    ($11::smallint[])[n], guarantee, ($9::smallint[])[n], expires_at, detail
  FROM gone WHERE ($7::smallint[])[n] = 2 AND NOT cancelled),
 p AS (
  INSERT INTO postrider.parked (id, tenant, lane, channel, fence, attempt, guarantee, reason, detail, at, expires_at)
  SELECT ($5::bigint[])[n], ($3::int[])[n], ($1::smallint[])[n], ($2::smallint[])[n], ($6::int[])[n], ($11::smallint[])[n], guarantee,
    ($9::smallint[])[n], detail, $21::bigint, expires_at
  FROM gone WHERE ($7::smallint[])[n] = 3)
SELECT n, EXISTS (SELECT 1 FROM postrider.secret), cancelled FROM gone

-- name: record_held_by_place
(SELECT i.*, ($22::tid[])[i.n] AS at
 FROM unnest($18::text[], $19::text[], $20::text[]) WITH ORDINALITY AS i(detail, provider_message_id, excerpt, n)
 WHERE $4::bigint[] IS NOT NULL) held

-- name: record_held_by_key
(SELECT i.*, h.at FROM unnest($18::text[], $19::text[], $20::text[]) WITH ORDINALITY AS i(detail, provider_message_id, excerpt, n)
 CROSS JOIN LATERAL (
   SELECT k.ctid AS at FROM postrider.queue k
   WHERE k.lane = ($1::smallint[])[n] AND k.channel = ($2::smallint[])[n] AND k.tenant = ($3::int[])[n]
     AND k.position = ($4::bigint[])[n] AND k.id = ($5::bigint[])[n] AND k.fence = ($6::int[])[n] AND k.node <> 0 OFFSET 0) h
 WHERE $22::tid[] IS NOT NULL) held

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

-- Locks all of them, so that none is cancelled before it is given back; those that were cancelled go.
-- name: give_back_cancelled
WITH held AS MATERIALIZED (
  SELECT h.* FROM unnest($1::smallint[], $2::smallint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])
    AS k(lane, channel, tenant, position, id, fence)
  CROSS JOIN LATERAL (
    SELECT q.ctid AS at, q.cancel_reason FROM postrider.queue q
    WHERE q.lane = k.lane AND q.channel = k.channel AND q.tenant = k.tenant AND q.position = k.position AND q.id = k.id
      AND q.fence = k.fence AND q.node <> 0 FOR UPDATE) h)
DELETE FROM postrider.queue q USING held WHERE q.ctid = held.at AND held.cancel_reason IS NOT NULL
RETURNING q.id, q.tenant, q.cancel_reason, q.cancel_why

-- name: is_settled
SELECT 1 FROM postrider.settled WHERE id = $1::bigint

-- What was written late; the last one stays.
-- name: rendering_put
INSERT INTO postrider.rendering (delivery, at, template_version, locale, subject, body, html, warnings)
VALUES ($1::bigint, $2::bigint, $3::int, $4::text, $5::text, $6::text, $7::text, $8::text)
ON CONFLICT (delivery) DO UPDATE SET at = EXCLUDED.at, template_version = EXCLUDED.template_version, locale = EXCLUDED.locale,
  subject = EXCLUDED.subject, body = EXCLUDED.body, html = EXCLUDED.html, warnings = EXCLUDED.warnings

-- name: rendering_of
SELECT template_version, locale, subject, body, html, warnings FROM postrider.rendering WHERE delivery = $1::bigint
