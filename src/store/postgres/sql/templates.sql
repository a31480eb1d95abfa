-- name: catalog_version
SELECT version FROM postrider.catalog WHERE name = 'templates'

-- name: catalog_lock
SELECT version FROM postrider.catalog WHERE name = 'templates' FOR UPDATE

-- name: catalog_bump
UPDATE postrider.catalog SET version = version + 1 WHERE name = 'templates'

-- name: templates
SELECT t.id, t.tenant, t.version, t.channel, t.active::int, t.created_at, t.updated_at, t.key, t.name, t.type, t.scope_type, t.scope_id,
  x.locale, x.subject, x.body, x.html, x.provider_template, x.provider_params
FROM (
  SELECT * FROM postrider.template
  WHERE id > $6::bigint AND ($1::int IS NULL OR tenant IN (0, $1::int)) AND ($2::text = '' OR type = $2::text)
    AND ($3::text = '' OR key = $3::text) AND ($4::smallint IS NULL OR channel = $4::smallint)
    AND ($5::boolean IS NULL OR active = $5::boolean)
  ORDER BY id LIMIT $7::bigint) AS t
LEFT JOIN postrider.template_text AS x ON x.template = t.id AND x.version = t.version
ORDER BY t.id, x.locale

-- name: template_version
SELECT t.id, t.tenant, v.version, t.channel, t.active::int, t.created_at, v.at, t.key, v.name, v.type, t.scope_type, t.scope_id,
  x.locale, x.subject, x.body, x.html, x.provider_template, x.provider_params
FROM postrider.template AS t
JOIN postrider.template_version AS v ON v.template = t.id AND v.version = CASE $2::int WHEN 0 THEN t.version ELSE $2::int END
LEFT JOIN postrider.template_text AS x ON x.template = t.id AND x.version = v.version
WHERE t.id = $1::bigint
ORDER BY x.locale

-- name: template_by_key
SELECT id FROM postrider.template
WHERE tenant = $1::int AND key = $2::text AND coalesce(channel, 0) = coalesce($3::smallint, 0) AND scope_type = $4::text AND scope_id = $5::text

-- name: template_by_event
SELECT id FROM postrider.template
WHERE tenant = $1::int AND type = $2::text AND channel = $3::smallint AND scope_type = $4::text AND scope_id = $5::text AND active
  AND type <> '' AND channel IS NOT NULL AND id <> $6::bigint

-- name: template_add
INSERT INTO postrider.template (created_at, updated_at, tenant, version, channel, active, key, name, type, scope_type, scope_id)
VALUES ($1::bigint, $1::bigint, $2::int, 1, $3::smallint, $4::boolean, $5::text, $6::text, $7::text, $8::text, $9::text)
RETURNING id

-- name: template_change
UPDATE postrider.template
SET version = $2::int, active = $3::boolean, updated_at = $4::bigint, name = $5::text, type = $6::text WHERE id = $1::bigint

-- name: template_set_active
UPDATE postrider.template SET active = $2::boolean WHERE id = $1::bigint

-- name: template_version_add
INSERT INTO postrider.template_version (template, version, at, name, type) VALUES ($1::bigint, $2::int, $3::bigint, $4::text, $5::text)

-- name: template_text_add
INSERT INTO postrider.template_text (template, version, locale, subject, body, html, provider_template, provider_params)
VALUES ($1::bigint, $2::int, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text)

-- name: template_used_locked
SELECT used::int FROM postrider.template WHERE id = $1::bigint FOR UPDATE

-- name: template_used
UPDATE postrider.template SET used = true WHERE id = ANY($1::bigint[]) RETURNING id

-- name: template_texts_drop
DELETE FROM postrider.template_text WHERE template = $1::bigint

-- name: template_versions_drop
DELETE FROM postrider.template_version WHERE template = $1::bigint

-- name: template_drop
DELETE FROM postrider.template WHERE id = $1::bigint
