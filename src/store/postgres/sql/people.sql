-- name: suppression_any
SELECT 1 FROM postrider.suppression LIMIT 1

-- Contacts with their addresses and preferences: kind 0 the contact, 1 an address, 2 a preference.
-- name: contacts_find
WITH found AS (
  SELECT c.* FROM unnest($1::int[], $2::text[]) AS w(tenant, key)
  CROSS JOIN LATERAL (SELECT * FROM postrider.contact c WHERE c.tenant = w.tenant AND c.key = w.key OFFSET 0) c)
SELECT f.tenant, f.key, 0 AS kind, f.id, 0 AS number, f.name AS text, f.locale, f.timezone, f.quiet_hours, f.attributes, f.updated_at, 0
FROM found f
UNION ALL
SELECT f.tenant, f.key, 1, f.id, a.channel, a.address, '', '', '', '', 0, 0
FROM found f CROSS JOIN LATERAL (SELECT * FROM postrider.contact_address a WHERE a.contact = f.id OFFSET 0) a
UNION ALL
SELECT f.tenant, f.key, 2, f.id, p.channel, p.category, p.source, '', '', '', p.at, p.allowed::int
FROM found f CROSS JOIN LATERAL (SELECT * FROM postrider.contact_preference p WHERE p.contact = f.id OFFSET 0) p
ORDER BY 1, 2, 3, 5, 6

-- $3: an address of theirs on any channel, or null.
-- name: contacts_page
WITH found AS (
  SELECT * FROM postrider.contact c WHERE c.tenant = $1::int AND c.key > $2::text
    AND ($3::text IS NULL
         OR c.id IN (SELECT a.contact FROM postrider.contact_address a WHERE a.tenant = $1::int AND a.address = $3::text))
  ORDER BY c.key LIMIT $4::int)
SELECT f.tenant, f.key, 0 AS kind, f.id, 0 AS number, f.name AS text, f.locale, f.timezone, f.quiet_hours, f.attributes, f.updated_at, 0
FROM found f
UNION ALL
SELECT f.tenant, f.key, 1, f.id, a.channel, a.address, '', '', '', '', 0, 0
FROM found f CROSS JOIN LATERAL (SELECT * FROM postrider.contact_address a WHERE a.contact = f.id OFFSET 0) a
UNION ALL
SELECT f.tenant, f.key, 2, f.id, p.channel, p.category, p.source, '', '', '', p.at, p.allowed::int
FROM found f CROSS JOIN LATERAL (SELECT * FROM postrider.contact_preference p WHERE p.contact = f.id OFFSET 0) p
ORDER BY 1, 2, 3, 5, 6

-- name: contacts_put
INSERT INTO postrider.contact (updated_at, tenant, key, name, locale, timezone, quiet_hours, attributes)
SELECT $1::bigint, w.* FROM unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) AS w
ON CONFLICT (tenant, key) DO UPDATE SET updated_at = excluded.updated_at, name = excluded.name, locale = excluded.locale,
  timezone = excluded.timezone, quiet_hours = excluded.quiet_hours, attributes = excluded.attributes
RETURNING id, tenant, key

-- name: contacts_addresses_drop
DELETE FROM postrider.contact_address WHERE contact = ANY($1::bigint[])

-- name: contacts_preferences_drop
DELETE FROM postrider.contact_preference WHERE contact = ANY($1::bigint[])

-- name: contacts_addresses_add
INSERT INTO postrider.contact_address (contact, tenant, channel, address)
SELECT * FROM unnest($1::bigint[], $2::int[], $3::smallint[], $4::text[])

-- name: contacts_preferences_add
INSERT INTO postrider.contact_preference (contact, at, channel, allowed, category, source)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bool[], $5::text[], $6::text[])

-- name: contact_id
SELECT id FROM postrider.contact WHERE tenant = $1::int AND key = $2::text FOR UPDATE

-- name: contact_addresses_drop
DELETE FROM postrider.contact_address WHERE contact = $1::bigint

-- name: contact_preferences_drop
DELETE FROM postrider.contact_preference WHERE contact = $1::bigint

-- name: contact_drop
DELETE FROM postrider.contact WHERE id = $1::bigint

-- The lists that a contact is about to leave change with it.
-- name: lists_of_contact_touch
UPDATE postrider.list SET updated_at = greatest(updated_at, $3::bigint)
WHERE tenant = $1::int AND ended_at IS NULL
  AND id IN (SELECT m.list FROM postrider.list_member m WHERE m.contact = $2::text AND m.contact <> '' AND m.left_at IS NULL)

-- name: memberships_end
UPDATE postrider.list_member SET left_at = (SELECT l.updated_at FROM postrider.list l WHERE l.id = list)
WHERE contact = $2::text AND contact <> '' AND left_at IS NULL
  AND list IN (SELECT l.id FROM postrider.list l WHERE l.tenant = $1::int AND l.ended_at IS NULL)

-- What neither ended nor was parked. The look-ups stay look-ups: the past of a recipient may be long.
-- name: open_of_contacts
SELECT d.id, d.lane, d.channel, d.tenant, d.category, d.contact, d.recipient
FROM unnest($1::int[], $2::text[]) AS w(tenant, key)
CROSS JOIN LATERAL (SELECT * FROM postrider.delivery d WHERE d.tenant = w.tenant AND d.contact = w.key AND d.contact <> '' OFFSET 0) d
WHERE (SELECT t.id FROM postrider.settled t WHERE t.id = d.id) IS NULL
  AND (SELECT p.id FROM postrider.parked p WHERE p.id = d.id) IS NULL
ORDER BY d.id

-- name: open_at_addresses
SELECT d.id, d.lane, d.channel, d.tenant, d.category, d.contact, d.recipient
FROM unnest($1::int[], $2::smallint[], $3::text[]) AS w(tenant, channel, address)
CROSS JOIN LATERAL (
  SELECT * FROM postrider.delivery d WHERE d.tenant = w.tenant AND d.recipient = w.address AND d.channel = w.channel OFFSET 0) d
WHERE (SELECT t.id FROM postrider.settled t WHERE t.id = d.id) IS NULL
  AND (SELECT p.id FROM postrider.parked p WHERE p.id = d.id) IS NULL
ORDER BY d.id

-- name: audit_add_all
INSERT INTO postrider.audit (at, actor, action, why, message, delivery, detail)
SELECT $1::bigint, $2::text, $3::text, $4::text, NULL, NULL, w.detail FROM unnest($5::text[]) WITH ORDINALITY AS w(detail, n) ORDER BY w.n

-- name: lists_page
SELECT l.id, l.tenant, l.name, l.description, l.updated_at,
  (SELECT count(*) FROM postrider.list_member m WHERE m.list = l.id AND m.left_at IS NULL)
FROM postrider.list l WHERE l.tenant = $1::int AND l.name > $2::text AND l.ended_at IS NULL ORDER BY l.name LIMIT $3::int

-- name: list_find
SELECT l.id, l.tenant, l.name, l.description, l.updated_at,
  (SELECT count(*) FROM postrider.list_member m WHERE m.list = l.id AND m.left_at IS NULL)
FROM postrider.list l WHERE l.tenant = $1::int AND l.name = $2::text AND l.ended_at IS NULL

-- name: list_last_change
SELECT max(updated_at) FROM postrider.list WHERE tenant = $1::int AND name = $2::text

-- name: list_locked
SELECT id FROM postrider.list WHERE tenant = $1::int AND name = $2::text AND ended_at IS NULL FOR UPDATE

-- name: list_add
INSERT INTO postrider.list (updated_at, made_at, tenant, name, description) VALUES ($1::bigint, $1::bigint, $2::int, $3::text, $4::text)
ON CONFLICT (tenant, name) WHERE ended_at IS NULL DO UPDATE SET updated_at = excluded.updated_at, description = excluded.description

-- name: list_change
UPDATE postrider.list SET updated_at = $2::bigint, description = $3::text WHERE id = $1::bigint

-- name: list_touch
UPDATE postrider.list SET updated_at = $2::bigint WHERE id = $1::bigint

-- name: list_end
UPDATE postrider.list SET updated_at = $2::bigint, ended_at = $2::bigint WHERE id = $1::bigint

-- name: list_at
SELECT id FROM postrider.list
WHERE tenant = $1::int AND name = $2::text AND made_at <= $3::bigint AND (ended_at IS NULL OR ended_at > $3::bigint)
ORDER BY made_at DESC LIMIT 1

-- name: members_at
SELECT id, channel, contact, address, joined_at FROM postrider.list_member
WHERE list = $1::bigint AND id > $2::bigint AND joined_at <= $3::bigint AND (left_at IS NULL OR left_at > $3::bigint)
ORDER BY id LIMIT $4::int

-- name: members_add
INSERT INTO postrider.list_member (list, joined_at, channel, contact, comparable, address)
SELECT $1::bigint, $2::bigint, w.channel, w.contact, w.comparable, w.address
FROM unnest($3::smallint[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS w(channel, contact, comparable, address, n) ORDER BY w.n
ON CONFLICT DO NOTHING

-- name: members_end
UPDATE postrider.list_member m SET left_at = $2::bigint
FROM unnest($3::smallint[], $4::text[], $5::text[]) AS w(channel, contact, comparable)
WHERE m.list = $1::bigint AND m.channel = w.channel AND m.contact = w.contact AND m.comparable = w.comparable AND m.left_at IS NULL

-- name: suppressions_find
SELECT s.tenant, s.channel, s.cause, s.at, s.address, s.evidence
FROM unnest($1::int[], $2::smallint[], $3::text[]) AS w(tenant, channel, comparable)
CROSS JOIN LATERAL (
  SELECT * FROM postrider.suppression s WHERE s.tenant = w.tenant AND s.channel = w.channel AND s.comparable = w.comparable OFFSET 0) s

-- name: suppression_find
SELECT tenant, channel, cause, at, address, evidence FROM postrider.suppression
WHERE tenant = $1::int AND channel = $2::smallint AND comparable = $3::text

-- name: suppressions_page
SELECT tenant, channel, cause, at, address, evidence FROM postrider.suppression
WHERE tenant = $1::int AND (channel, comparable) > ($2::smallint, $3::text) AND ($4::smallint IS NULL OR channel = $4::smallint)
ORDER BY channel, comparable LIMIT $5::int

-- name: suppressions_add
INSERT INTO postrider.suppression (tenant, channel, comparable, cause, at, address, evidence)
SELECT * FROM unnest($1::int[], $2::smallint[], $3::text[], $4::smallint[], $5::bigint[], $6::text[], $7::text[])
ON CONFLICT DO NOTHING
RETURNING tenant, channel, comparable

-- name: suppression_drop
DELETE FROM postrider.suppression WHERE tenant = $1::int AND channel = $2::smallint AND comparable = $3::text
