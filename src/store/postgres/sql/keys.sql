-- name: key_add
INSERT INTO postrider.api_key (name, hash, tenant, role, created_at) VALUES ($1::text, $2::text, $3::int, $4::smallint, $5::bigint)
ON CONFLICT (hash) DO NOTHING RETURNING id

-- name: keys
SELECT id, name, hash, tenant, role, created_at, revoked_at FROM postrider.api_key ORDER BY id

-- name: key_exists
SELECT 1 FROM postrider.api_key WHERE id = $1::bigint

-- name: key_revoke
UPDATE postrider.api_key SET revoked_at = $2::bigint WHERE id = $1::bigint AND revoked_at IS NULL
