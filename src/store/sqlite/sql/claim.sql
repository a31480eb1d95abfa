-- The next group behind the one given: called once per group, so that heads() is a loose index scan. Each part is a seek of its own; a
-- comparison of (lane, channel, tenant) as one value would be made with every row of the lane.
-- name: head_after
SELECT * FROM (SELECT lane, channel, tenant, position FROM postrider_queue
  WHERE lane = ?1 AND channel = ?2 AND tenant > ?3 ORDER BY tenant, position LIMIT 1)
UNION ALL
SELECT * FROM (SELECT lane, channel, tenant, position FROM postrider_queue
  WHERE lane = ?1 AND channel > ?2 ORDER BY channel, tenant, position LIMIT 1)
UNION ALL
SELECT * FROM (SELECT lane, channel, tenant, position FROM postrider_queue
  WHERE lane > ?1 ORDER BY lane, channel, tenant, position LIMIT 1)
LIMIT 1

-- CROSS JOIN keeps the order of the join: the queue leads. 2 is at-most-once; ?4 says whether only those or none,
-- and the store makes a form for each: those have an index of their own.
-- name: claim_pick
SELECT q.position, q.fence, q.attempt,
  d.id, d.message, d.uuid, d.tenant, d.channel, d.lane, d.guarantee, d.type, d.origin, d.traceparent, d.recipient,
  d."key", d.template, d.template_version, d.expires_at, d.warnings, d.subject, d.body, d.html, d.rendering, d.quiet
FROM postrider_queue q /* index */ CROSS JOIN postrider_delivery d ON d.id = q.id
WHERE q.lane = ?1 AND q.channel = ?2 AND q.tenant = ?3 AND q.position > ?7 AND q.node = 0 AND (q.guarantee = 2) = ?4
  AND q.attempt < ?5
ORDER BY q.position LIMIT ?6

-- The rows that claim_pick gave: all that it could give up to the last position it gave, in one statement.
-- name: claim_take_range
UPDATE postrider_queue /* index */ SET node = ?7, fence = fence + 1, attempt = attempt + 1, provider = ?8, claimed_at = ?9
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position BETWEEN ?10 AND ?6 AND node = 0 AND (guarantee = 2) = ?4
  AND attempt < ?5

-- name: claim_take
UPDATE postrider_queue SET node = ?5, fence = fence + 1, attempt = attempt + 1, provider = ?6, claimed_at = ?7
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4

-- Those that were cancelled meanwhile are not given back.
-- name: release
UPDATE postrider_queue SET node = 0, attempt = max(attempt - 1, 0), provider = 0, claimed_at = NULL
WHERE lane = ?1 AND channel = ?2 AND tenant = ?3 AND position = ?4 AND id = ?5 AND fence = ?6 AND node <> 0
  AND cancel_reason IS NULL
