-- name: dedup_find
SELECT id, body, uuid FROM postrider_dedup WHERE tenant = ?1 AND kind = ?2 AND hash = ?3

-- name: dedup_add
INSERT INTO postrider_dedup (tenant, kind, hash, id, body, uuid) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING

-- Rows that wait under ids that were made here ([text, …]). There is no index for it: this walks over all that wait.
-- name: outbox_waiting
SELECT position, accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed, lane,
  category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at, source_site,
  source_instance, source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject, body,
  template
FROM postrider_outbox WHERE lower(CAST(id AS TEXT)) IN (SELECT value FROM json_each(?1)) ORDER BY position

-- name: outbox_add
INSERT INTO postrider_outbox (accepted, id, tenant, topic, type, entity_id, version, idempotency_key, payload, sealed,
  lane, category, locale, origin, correlation_id, traceparent, schema_version, occurred_at, due_at, expires_at,
  source_site, source_instance, source_script, site_enqueued_at, type_data, channel, recipient, contact, list, subject,
  body, template)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
  ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)
