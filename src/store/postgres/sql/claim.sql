-- One step of a loose index scan: the first row behind the group given.
-- name: heads
WITH RECURSIVE head AS (
  (SELECT lane, channel, tenant, position FROM postrider.queue ORDER BY lane, channel, tenant, position LIMIT 1)
  UNION ALL
  SELECT n.lane, n.channel, n.tenant, n.position FROM head h CROSS JOIN LATERAL (
    SELECT q.lane, q.channel, q.tenant, q.position FROM postrider.queue q
    WHERE (q.lane, q.channel, q.tenant) > (h.lane, h.channel, h.tenant) ORDER BY q.lane, q.channel, q.tenant, q.position LIMIT 1) n)
SELECT lane, channel, tenant, position FROM head

-- Of groups that were claimed from up to a position: those with rows behind it.
-- name: heads_behind
SELECT k.lane, k.channel, k.tenant, p.position
FROM unnest($1::smallint[], $2::smallint[], $3::int[], $4::bigint[]) AS k(lane, channel, tenant, floor)
CROSS JOIN LATERAL (
  SELECT q.position FROM postrider.queue q
  WHERE q.lane = k.lane AND q.channel = k.channel AND q.tenant = k.tenant AND q.position > k.floor
  ORDER BY q.position LIMIT 1) p

-- Who claims in a lane and channel waits for its turn: each then sees what the one before took. Two that claimed at the same moment would
-- meet at the same rows, lock what the other holds while they look at it again, and could wait for each other's record. Nobody waits for
-- long: one that stands still keeps the turn.
-- name: claim_turn
SELECT set_config('lock_timeout', $4::int::text, true), pg_advisory_xact_lock($1::int, $2::smallint::int * 256 + $3::smallint::int)::text

-- What was picked is reached by its ctid: joined by key, the planner, which knows no sizes here, may walk the whole queue for each row; and
-- all of it at once: one by one, each would ask for the size of the table. MATERIALIZED: it is picked once, so no plan updates more rows than
-- LIMIT says. Who has the turn locks no rows: should another verb change one in between, the conditions are seen again on its new version,
-- and it is left out (a recheck of the ctid alone would not leave it out). 2 is at-most-once; the store makes a form for those, found by an
-- index of their own, and one for the others. The first column says how many were picked.
-- name: claim
WITH pick AS MATERIALIZED (SELECT ARRAY(
  SELECT p.at FROM unnest($3::int[], $4::int[], $10::bigint[]) AS t(tenant, quota, floor)
  CROSS JOIN LATERAL (
    SELECT q.ctid AS at FROM postrider.queue q
    WHERE q.lane = $1::smallint AND q.channel = $2::smallint AND q.tenant = t.tenant AND q.position > t.floor AND q.node = 0
      AND (q.guarantee = 2) = $6::bool AND q.attempt < $7::smallint
    ORDER BY q.position LIMIT t.quota) p) AS places)
UPDATE postrider.queue q SET node = $8::int, fence = q.fence + 1, attempt = q.attempt + 1, provider = $5::smallint, claimed_at = $9::bigint
WHERE q.ctid = ANY((SELECT places FROM pick)::tid[]) AND q.node = 0 AND (q.guarantee = 2) = $6::bool AND q.attempt < $7::smallint
RETURNING (SELECT cardinality(places) FROM pick), q.lane, q.channel, q.tenant, q.position, q.id, q.fence, q.attempt, q.provider, q.guarantee,
  q.expires_at, q.ctid

-- The same without a turn, beside one that keeps it: each takes what the other did not lock.
-- name: claim_beside
WITH pick AS MATERIALIZED (
  SELECT p.at, t.provider FROM unnest($3::int[], $4::int[], $5::smallint[], $10::bigint[]) AS t(tenant, quota, provider, floor)
  CROSS JOIN LATERAL (
    SELECT q.ctid AS at FROM postrider.queue q
    WHERE q.lane = $1::smallint AND q.channel = $2::smallint AND q.tenant = t.tenant AND q.position > t.floor AND q.node = 0
      AND (q.guarantee = 2) = $6::bool AND q.attempt < $7::smallint
    ORDER BY q.position LIMIT t.quota FOR UPDATE SKIP LOCKED) p)
UPDATE postrider.queue q SET node = $8::int, fence = q.fence + 1, attempt = q.attempt + 1, provider = pick.provider, claimed_at = $9::bigint
FROM pick WHERE q.ctid = pick.at
RETURNING 0, q.lane, q.channel, q.tenant, q.position, q.id, q.fence, q.attempt, q.provider, q.guarantee, q.expires_at, q.ctid

-- What was claimed, read apart from the claim: so each row is found once and joined with nothing. Ids are given in order.
-- name: deliveries_by_id
SELECT /* columns */ FROM postrider.delivery d WHERE d.id = ANY($1::bigint[])

-- The same for ids that mostly stand one behind the other: one walk from the first to the last instead of a search for each. Of what
-- stands between them no more is passed by than was asked for; what lies behind that is not found.
-- name: deliveries_in_a_row
SELECT /* columns */ FROM (
  SELECT * FROM postrider.delivery WHERE id >= ($1::bigint[])[1] AND id <= ($1::bigint[])[cardinality($1::bigint[])]
  ORDER BY id LIMIT 2 * cardinality($1::bigint[])) d
WHERE d.id = ($1::bigint[])[width_bucket(d.id, $1::bigint[])]

-- name: delivery_columns
d.id, d.message, d.uuid, d.type, d.origin, d.traceparent, d.recipient, d.key, d.template, d.template_version, d.warnings, d.subject, d.body,
  d.html, d.rendering, d.quiet

-- name: release
WITH held AS MATERIALIZED (
  SELECT h.at FROM unnest($1::smallint[], $2::smallint[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])
    AS k(lane, channel, tenant, position, id, fence)
  CROSS JOIN LATERAL (
    SELECT q.ctid AS at FROM postrider.queue q
    WHERE q.lane = k.lane AND q.channel = k.channel AND q.tenant = k.tenant AND q.position = k.position AND q.id = k.id
      AND q.fence = k.fence AND q.node <> 0 FOR UPDATE) h)
UPDATE postrider.queue q SET node = 0, attempt = greatest(q.attempt - 1, 0), provider = 0, claimed_at = NULL
FROM held WHERE q.ctid = held.at
