-- name: key_taken
SELECT 1 FROM postrider_api_key WHERE hash = ?1

-- name: key_add
INSERT INTO postrider_api_key (name, hash, tenant, role, created_at, revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, NULL)

-- name: keys
SELECT id, name, hash, tenant, role, created_at, revoked_at FROM postrider_api_key ORDER BY id

-- name: key_exists
SELECT 1 FROM postrider_api_key WHERE id = ?1

-- name: key_revoke
UPDATE postrider_api_key SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL
