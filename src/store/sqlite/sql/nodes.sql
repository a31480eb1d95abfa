-- name: node_slots
SELECT slot FROM postrider_node ORDER BY slot

-- name: node_last
SELECT seq FROM sqlite_sequence WHERE name = 'postrider_node'

-- name: node_add
INSERT INTO postrider_node (slot, name, started_at, beats, beat_at) VALUES (?1, ?2, ?3, 0, ?3)

-- name: node_beat
UPDATE postrider_node SET beats = beats + 1, beat_at = ?2 WHERE id = ?1

-- name: nodes
SELECT id, beats FROM postrider_node ORDER BY id

-- name: node_drop
DELETE FROM postrider_node WHERE id = ?1

-- One that holds the duty keeps its epoch; whoever takes it, or takes it again after it had run out, gets a new one.
-- name: lead
INSERT INTO postrider_singleton (name, node, epoch, expires_at) VALUES (?1, ?2, 1, ?4)
ON CONFLICT (name) DO UPDATE SET
  epoch = CASE WHEN node = ?2 AND expires_at > ?3 THEN epoch ELSE epoch + 1 END, node = ?2, expires_at = ?4
WHERE node = ?2 OR expires_at <= ?3 OR node NOT IN (SELECT id FROM postrider_node)
RETURNING epoch

-- name: tenant_find
SELECT id FROM postrider_tenant WHERE name = ?1

-- name: tenant_add
INSERT INTO postrider_tenant (name) VALUES (?1)

-- name: provider_find
SELECT id FROM postrider_provider WHERE name = ?1

-- name: provider_add
INSERT INTO postrider_provider (name) VALUES (?1)
