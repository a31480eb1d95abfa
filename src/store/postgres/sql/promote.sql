-- name: due_next
SELECT due_at FROM postrider.deferred ORDER BY due_at LIMIT 1

-- New positions keep the order of the queue: what was promoted stands behind what is there.
-- name: promote
WITH pick AS MATERIALIZED (
  SELECT f.ctid AS at FROM postrider.deferred f WHERE due_at <= $1::bigint ORDER BY due_at, id LIMIT $2::int FOR UPDATE SKIP LOCKED),
 gone AS (DELETE FROM postrider.deferred f USING pick WHERE f.ctid = pick.at RETURNING f.*),
 numbered AS (SELECT g.*, ($3::bigint[])[row_number() OVER (ORDER BY g.due_at, g.id)] AS position FROM gone g),
 q AS (
  INSERT INTO postrider.queue (lane, channel, tenant, position, id, node, fence, attempt, provider, guarantee, expires_at)
  SELECT lane, channel, tenant, position, id, 0, fence, attempt, 0, guarantee, expires_at FROM numbered)
SELECT lane, channel, tenant FROM numbered

-- name: take_over
WITH pick AS MATERIALIZED (
  SELECT q.ctid AS at FROM postrider.queue q
  WHERE q.node <> 0 AND q.channel <> 0 AND NOT EXISTS (SELECT 1 FROM postrider.node n WHERE n.id = q.node)
  ORDER BY lane, channel, tenant, position LIMIT $1::int FOR UPDATE SKIP LOCKED),
 u AS (
  UPDATE postrider.queue q SET node = $2::int, fence = q.fence + 1 FROM pick WHERE q.ctid = pick.at
  RETURNING q.lane, q.channel, q.tenant, q.position, q.id, q.fence, q.attempt, q.provider, q.guarantee, q.expires_at,
    q.claimed_at)
SELECT u.*, /* columns */
FROM u JOIN postrider.delivery d ON d.id = u.id ORDER BY u.lane, u.channel, u.tenant, u.position

-- Expanding calls nobody: what a lost node had begun is simply begun again.
-- name: release_expand_of_lost
UPDATE postrider.queue q SET node = 0, fence = q.fence + 1, provider = 0, claimed_at = NULL
WHERE q.channel = 0 AND q.lane = ANY('{1,2,3}'::smallint[]) AND q.node <> 0
  AND NOT EXISTS (SELECT 1 FROM postrider.node n WHERE n.id = q.node)

-- Found through the index of what can expire, then taken in the order of the line.
-- name: expired_queue
WITH due AS MATERIALIZED (
  SELECT lane, channel, tenant, position FROM postrider.queue
  WHERE expires_at IS NOT NULL AND expires_at <= $1::bigint AND node = 0 AND channel <> 0),
 pick AS MATERIALIZED (
  SELECT q.lane, q.channel, q.tenant, q.position FROM due d JOIN postrider.queue q
    ON q.lane = d.lane AND q.channel = d.channel AND q.tenant = d.tenant AND q.position = d.position AND q.node = 0
  ORDER BY q.lane, q.channel, q.tenant, q.position LIMIT $2::int FOR UPDATE OF q SKIP LOCKED)
DELETE FROM postrider.queue q USING pick p
WHERE q.lane = p.lane AND q.channel = p.channel AND q.tenant = p.tenant AND q.position = p.position RETURNING q.id, q.tenant

-- name: expired_deferred
WITH pick AS MATERIALIZED (
  SELECT due_at, id FROM postrider.deferred WHERE expires_at <= $1::bigint AND channel <> 0
  ORDER BY due_at, id LIMIT $2::int FOR UPDATE SKIP LOCKED)
DELETE FROM postrider.deferred f USING pick p WHERE f.due_at = p.due_at AND f.id = p.id RETURNING f.id, f.tenant

-- name: expired_parked
WITH pick AS MATERIALIZED (
  SELECT id FROM postrider.parked WHERE expires_at <= $1::bigint ORDER BY id LIMIT $2::int FOR UPDATE SKIP LOCKED)
DELETE FROM postrider.parked f USING pick p WHERE f.id = p.id RETURNING f.id, f.tenant
