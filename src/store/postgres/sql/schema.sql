-- name: server_version
SELECT current_setting('server_version_num')::int

-- name: fsync_off
SELECT CASE WHEN current_setting('fsync') = 'off' THEN 1 ELSE 0 END

-- name: schema_lock
SELECT pg_advisory_xact_lock(hashtext('postrider.migrate'))::text

-- name: schema_any
SELECT CASE WHEN to_regclass('postrider.schema_version') IS NULL THEN 0 ELSE 1 END

-- name: schema_version
SELECT max(version) FROM postrider.schema_version

-- name: schema_put
INSERT INTO postrider.schema_version (version) VALUES ($1::int)
