-- name: catalog_version
SELECT version FROM postrider_catalog WHERE name = 'templates'

-- name: catalog_lock
SELECT version FROM postrider_catalog WHERE name = 'templates'

-- name: catalog_bump
UPDATE postrider_catalog SET version = version + 1 WHERE name = 'templates'

-- name: templates
SELECT t.id, t.tenant, t.version, t.channel, t.active, t.created_at, t.updated_at, t."key", t.name, t.type, t.scope_type, t.scope_id,
  x.locale, x.subject, x.body, x.html, x.provider_template, x.provider_params
FROM (
  SELECT * FROM postrider_template
  WHERE id > ?6 AND (?1 IS NULL OR tenant IN (0, ?1)) AND (?2 = '' OR type = ?2) AND (?3 = '' OR "key" = ?3)
    AND (?4 IS NULL OR channel = ?4) AND (?5 IS NULL OR active = ?5)
  ORDER BY id LIMIT ?7) AS t
LEFT JOIN postrider_template_text AS x ON x.template = t.id AND x.version = t.version
ORDER BY t.id, x.locale

-- name: template_version
SELECT t.id, t.tenant, v.version, t.channel, t.active, t.created_at, v.at, t."key", v.name, v.type, t.scope_type, t.scope_id,
  x.locale, x.subject, x.body, x.html, x.provider_template, x.provider_params
FROM postrider_template AS t
JOIN postrider_template_version AS v ON v.template = t.id AND v.version = CASE ?2 WHEN 0 THEN t.version ELSE ?2 END
LEFT JOIN postrider_template_text AS x ON x.template = t.id AND x.version = v.version
WHERE t.id = ?1
ORDER BY x.locale

-- name: template_by_key
SELECT id FROM postrider_template
WHERE tenant = ?1 AND "key" = ?2 AND coalesce(channel, 0) = coalesce(?3, 0) AND scope_type = ?4 AND scope_id = ?5

-- name: template_by_event
SELECT id FROM postrider_template
WHERE tenant = ?1 AND type = ?2 AND channel = ?3 AND scope_type = ?4 AND scope_id = ?5 AND active AND type <> ''
  AND channel IS NOT NULL AND id <> ?6

-- name: template_add
INSERT INTO postrider_template (created_at, updated_at, tenant, version, channel, active, "key", name, type, scope_type, scope_id)
VALUES (?1, ?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
RETURNING id

-- name: template_change
UPDATE postrider_template SET version = ?2, active = ?3, updated_at = ?4, name = ?5, type = ?6 WHERE id = ?1

-- name: template_set_active
UPDATE postrider_template SET active = ?2 WHERE id = ?1

-- name: template_version_add
INSERT INTO postrider_template_version (template, version, at, name, type) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: template_text_add
INSERT INTO postrider_template_text (template, version, locale, subject, body, html, provider_template, provider_params)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: template_used_locked
SELECT used FROM postrider_template WHERE id = ?1

-- name: template_used
UPDATE postrider_template SET used = 1 WHERE id = ?1

-- name: template_texts_drop
DELETE FROM postrider_template_text WHERE template = ?1

-- name: template_versions_drop
DELETE FROM postrider_template_version WHERE template = ?1

-- name: template_drop
DELETE FROM postrider_template WHERE id = ?1
