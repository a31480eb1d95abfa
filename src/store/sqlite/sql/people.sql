-- name: suppression_any
SELECT 1 FROM postrider_suppression LIMIT 1

-- A contact with its addresses and preferences: kind 0 the contact, 1 an address, 2 a preference.
-- name: contact_find
WITH found AS (SELECT * FROM postrider_contact WHERE tenant = ?1 AND "key" = ?2)
SELECT f.tenant, f."key", 0, f.id, 0 AS number, f.name AS text, f.locale, f.timezone, f.quiet_hours, f.attributes, f.updated_at, 0
FROM found f
UNION ALL
SELECT f.tenant, f."key", 1, f.id, a.channel, a.address, '', '', '', '', 0, 0
FROM found f JOIN postrider_contact_address a ON a.contact = f.id
UNION ALL
SELECT f.tenant, f."key", 2, f.id, p.channel, p.category, p.source, '', '', '', p.at, p.allowed
FROM found f JOIN postrider_contact_preference p ON p.contact = f.id
ORDER BY 1, 2, 3, 5, 6

-- ?3: an address of theirs on any channel, or null.
-- name: contacts_page
WITH found AS (
  SELECT * FROM postrider_contact c WHERE c.tenant = ?1 AND c."key" > ?2
    AND (?3 IS NULL OR c.id IN (SELECT a.contact FROM postrider_contact_address a WHERE a.tenant = ?1 AND a.address = ?3))
  ORDER BY c."key" LIMIT ?4)
SELECT f.tenant, f."key", 0, f.id, 0 AS number, f.name AS text, f.locale, f.timezone, f.quiet_hours, f.attributes, f.updated_at, 0
FROM found f
UNION ALL
SELECT f.tenant, f."key", 1, f.id, a.channel, a.address, '', '', '', '', 0, 0
FROM found f JOIN postrider_contact_address a ON a.contact = f.id
UNION ALL
SELECT f.tenant, f."key", 2, f.id, p.channel, p.category, p.source, '', '', '', p.at, p.allowed
FROM found f JOIN postrider_contact_preference p ON p.contact = f.id
ORDER BY 1, 2, 3, 5, 6

-- name: contact_put
INSERT INTO postrider_contact (updated_at, tenant, "key", name, locale, timezone, quiet_hours, attributes)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (tenant, "key") DO UPDATE SET updated_at = excluded.updated_at, name = excluded.name, locale = excluded.locale,
  timezone = excluded.timezone, quiet_hours = excluded.quiet_hours, attributes = excluded.attributes
RETURNING id

-- name: contact_address_add
INSERT INTO postrider_contact_address (contact, tenant, channel, address) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (contact, channel) DO UPDATE SET address = excluded.address

-- name: contact_preference_add
INSERT INTO postrider_contact_preference (contact, at, channel, allowed, category, source) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (contact, channel, category) DO UPDATE SET at = excluded.at, allowed = excluded.allowed, source = excluded.source

-- name: contact_id
SELECT id FROM postrider_contact WHERE tenant = ?1 AND "key" = ?2

-- name: contact_addresses_drop
DELETE FROM postrider_contact_address WHERE contact = ?1

-- name: contact_preferences_drop
DELETE FROM postrider_contact_preference WHERE contact = ?1

-- name: contact_drop
DELETE FROM postrider_contact WHERE id = ?1

-- The lists that a contact is about to leave change with it.
-- name: lists_of_contact_touch
UPDATE postrider_list SET updated_at = max(updated_at, ?3)
WHERE tenant = ?1 AND ended_at IS NULL
  AND id IN (SELECT m.list FROM postrider_list_member m WHERE m.contact = ?2 AND m.contact <> '' AND m.left_at IS NULL)

-- name: memberships_end
UPDATE postrider_list_member SET left_at = (SELECT l.updated_at FROM postrider_list l WHERE l.id = list)
WHERE contact = ?2 AND contact <> '' AND left_at IS NULL
  AND list IN (SELECT l.id FROM postrider_list l WHERE l.tenant = ?1 AND l.ended_at IS NULL)

-- What neither ended nor was parked. The look-ups stay look-ups: the past of a recipient may be long.
-- name: open_of_contact
SELECT d.id, d.lane, d.channel, d.tenant, d.category, d.contact, d.recipient FROM postrider_delivery d
WHERE d.tenant = ?1 AND d.contact = ?2 AND d.contact <> ''
  AND (SELECT t.id FROM postrider_settled t WHERE t.id = d.id) IS NULL
  AND (SELECT p.id FROM postrider_parked p WHERE p.id = d.id) IS NULL
ORDER BY d.id

-- name: open_at_address
SELECT d.id, d.lane, d.channel, d.tenant, d.category, d.contact, d.recipient FROM postrider_delivery d
WHERE d.tenant = ?1 AND d.channel = ?2 AND d.recipient = ?3
  AND (SELECT t.id FROM postrider_settled t WHERE t.id = d.id) IS NULL
  AND (SELECT p.id FROM postrider_parked p WHERE p.id = d.id) IS NULL
ORDER BY d.id

-- name: delivery_whom
SELECT d.id, d.lane, d.channel, d.tenant, d.category, d.contact, d.recipient FROM postrider_delivery d WHERE d.id = ?1

-- name: lists_page
SELECT l.id, l.tenant, l.name, l.description, l.updated_at,
  (SELECT count(*) FROM postrider_list_member m WHERE m.list = l.id AND m.left_at IS NULL)
FROM postrider_list l WHERE l.tenant = ?1 AND l.name > ?2 AND l.ended_at IS NULL ORDER BY l.name LIMIT ?3

-- name: list_find
SELECT l.id, l.tenant, l.name, l.description, l.updated_at,
  (SELECT count(*) FROM postrider_list_member m WHERE m.list = l.id AND m.left_at IS NULL)
FROM postrider_list l WHERE l.tenant = ?1 AND l.name = ?2 AND l.ended_at IS NULL

-- name: list_last_change
SELECT max(updated_at) FROM postrider_list WHERE tenant = ?1 AND name = ?2

-- name: list_locked
SELECT id FROM postrider_list WHERE tenant = ?1 AND name = ?2 AND ended_at IS NULL

-- name: list_add
INSERT INTO postrider_list (updated_at, made_at, tenant, name, description) VALUES (?1, ?1, ?2, ?3, ?4)
ON CONFLICT (tenant, name) WHERE ended_at IS NULL DO UPDATE SET updated_at = excluded.updated_at, description = excluded.description

-- name: list_change
UPDATE postrider_list SET updated_at = ?2, description = ?3 WHERE id = ?1

-- name: list_touch
UPDATE postrider_list SET updated_at = ?2 WHERE id = ?1

-- name: list_end
UPDATE postrider_list SET updated_at = ?2, ended_at = ?2 WHERE id = ?1

-- name: list_at
SELECT id FROM postrider_list
WHERE tenant = ?1 AND name = ?2 AND made_at <= ?3 AND (ended_at IS NULL OR ended_at > ?3) ORDER BY made_at DESC LIMIT 1

-- name: members_at
SELECT id, channel, contact, address, joined_at FROM postrider_list_member
WHERE list = ?1 AND id > ?2 AND joined_at <= ?3 AND (left_at IS NULL OR left_at > ?3) ORDER BY id LIMIT ?4

-- name: member_add
INSERT INTO postrider_list_member (list, joined_at, channel, contact, comparable, address) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING

-- name: member_end
UPDATE postrider_list_member SET left_at = ?2
WHERE list = ?1 AND channel = ?3 AND contact = ?4 AND comparable = ?5 AND left_at IS NULL

-- name: suppression_find
SELECT tenant, channel, cause, at, address, evidence FROM postrider_suppression
WHERE tenant = ?1 AND channel = ?2 AND comparable = ?3

-- name: suppressions_page
SELECT tenant, channel, cause, at, address, evidence FROM postrider_suppression
WHERE tenant = ?1 AND (channel, comparable) > (?2, ?3) AND (?4 IS NULL OR channel = ?4) ORDER BY channel, comparable LIMIT ?5

-- name: suppression_add
INSERT INTO postrider_suppression (tenant, channel, comparable, cause, at, address, evidence) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT DO NOTHING

-- name: suppression_drop
DELETE FROM postrider_suppression WHERE tenant = ?1 AND channel = ?2 AND comparable = ?3
