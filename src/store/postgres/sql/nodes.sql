-- name: database_now
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- name: ensure_partitions
SELECT postrider.ensure_partitions(to_timestamp($1::bigint / 1000000.0))::text

-- Slots go round: a node that was taken for dead and wakes up makes ids for a while, so its slot must not be another's already.
-- name: node_add
INSERT INTO postrider.node (slot, name, started_at, beats, beat_at)
SELECT s.slot, $1::text, $2::bigint, 0, $2::bigint
FROM (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS node FROM postrider.node_id_seq) last,
  generate_series(1, $3::int) k, LATERAL (SELECT ((last.node + k) % $3::int)::int AS slot) s
WHERE NOT EXISTS (SELECT 1 FROM postrider.node n WHERE n.slot = s.slot) ORDER BY k LIMIT 1
RETURNING id, slot

-- Long silent: nobody is left who could have missed it sooner.
-- name: nodes_forget
DELETE FROM postrider.node WHERE beat_at < $1::bigint

-- name: node_lock
SELECT pg_advisory_xact_lock(hashtext('postrider.node'))::text

-- name: node_beat
UPDATE postrider.node SET beats = beats + 1, beat_at = $2::bigint WHERE id = $1::int

-- name: nodes
SELECT id, beats FROM postrider.node ORDER BY id

-- name: node_drop
DELETE FROM postrider.node WHERE id = $1::int

-- One that holds the duty keeps its epoch; whoever takes it, or takes it again after it had run out, gets a new one.
-- name: lead
INSERT INTO postrider.singleton AS s (name, node, epoch, expires_at) VALUES ($1::text, $2::int, 1, $4::bigint)
ON CONFLICT (name) DO UPDATE SET
  epoch = CASE WHEN s.node = $2::int AND s.expires_at > $3::bigint THEN s.epoch ELSE s.epoch + 1 END, node = $2::int,
  expires_at = $4::bigint
WHERE s.node = $2::int OR s.expires_at <= $3::bigint OR NOT EXISTS (SELECT 1 FROM postrider.node n WHERE n.id = s.node)
RETURNING s.epoch

-- name: tenant_find
SELECT id FROM postrider.tenant WHERE name = $1::text

-- name: tenant_add
INSERT INTO postrider.tenant (name) VALUES ($1::text) ON CONFLICT DO NOTHING

-- name: provider_find
SELECT id FROM postrider.provider WHERE name = $1::text

-- name: provider_add
INSERT INTO postrider.provider (name) VALUES ($1::text) ON CONFLICT DO NOTHING
