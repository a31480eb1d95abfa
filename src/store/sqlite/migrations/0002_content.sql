-- Templates, people and lists; and what a delivery knows about its recipient and its content.

-- What the engine keeps in memory, and when it changed: whoever keeps a copy reads again when the number moved.
CREATE TABLE postrider_catalog (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
INSERT INTO postrider_catalog (name, version) VALUES ('templates', 1);

-- One per (tenant, key, channel, scope); tenant 0: every tenant; channel NULL: a partial, included by its key.
CREATE TABLE postrider_template (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  tenant     INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  channel    INTEGER,
  active     INTEGER NOT NULL,
  used       INTEGER NOT NULL DEFAULT 0,  -- a delivery refers to it
  "key"      TEXT NOT NULL,
  name       TEXT NOT NULL,
  type       TEXT NOT NULL,
  scope_type TEXT NOT NULL,
  scope_id   TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX postrider_template_by_key ON postrider_template (tenant, "key", coalesce(channel, 0), scope_type, scope_id);
CREATE UNIQUE INDEX postrider_template_by_type ON postrider_template (tenant, type, channel, scope_type, scope_id)
  WHERE active AND type <> '' AND channel IS NOT NULL;

-- Append-only: every version with its name, type and texts.
CREATE TABLE postrider_template_version (
  template INTEGER NOT NULL REFERENCES postrider_template (id) ON DELETE CASCADE,
  version  INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  name     TEXT NOT NULL,
  type     TEXT NOT NULL,
  PRIMARY KEY (template, version)
) STRICT;
CREATE TABLE postrider_template_text (
  template          INTEGER NOT NULL REFERENCES postrider_template (id) ON DELETE CASCADE,
  version           INTEGER NOT NULL,
  locale            TEXT NOT NULL,
  subject           TEXT NOT NULL,
  body              TEXT NOT NULL,
  html              TEXT NOT NULL,
  provider_template TEXT NOT NULL,
  provider_params   TEXT NOT NULL,
  PRIMARY KEY (template, version, locale)
) STRICT;

CREATE TABLE postrider_contact (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  updated_at  INTEGER NOT NULL,
  tenant      INTEGER NOT NULL,
  "key"       TEXT NOT NULL,
  name        TEXT NOT NULL,
  locale      TEXT NOT NULL,
  timezone    TEXT NOT NULL,
  quiet_hours TEXT NOT NULL,  -- "22:00-08:00", or empty
  attributes  TEXT NOT NULL,
  UNIQUE (tenant, "key")
) STRICT;
CREATE TABLE postrider_contact_address (
  contact INTEGER NOT NULL REFERENCES postrider_contact (id) ON DELETE CASCADE,
  tenant  INTEGER NOT NULL,
  channel INTEGER NOT NULL,
  address TEXT NOT NULL,
  PRIMARY KEY (contact, channel)
) STRICT;
CREATE INDEX postrider_contact_address_by_address ON postrider_contact_address (tenant, address);
CREATE TABLE postrider_contact_preference (
  contact  INTEGER NOT NULL REFERENCES postrider_contact (id) ON DELETE CASCADE,
  at       INTEGER NOT NULL,
  channel  INTEGER NOT NULL,  -- 0: every channel
  allowed  INTEGER NOT NULL,
  category TEXT NOT NULL,      -- empty: every category
  source   TEXT NOT NULL,
  PRIMARY KEY (contact, channel, category)
) STRICT;

-- Lists and members are ended, not deleted: who was on a list at a given time stays known.
CREATE TABLE postrider_list (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  updated_at  INTEGER NOT NULL,
  made_at     INTEGER NOT NULL,
  ended_at    INTEGER,
  tenant      INTEGER NOT NULL,
  name        TEXT NOT NULL,
  description TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX postrider_list_by_name ON postrider_list (tenant, name) WHERE ended_at IS NULL;
CREATE INDEX postrider_list_of_old ON postrider_list (tenant, name, made_at);
CREATE TABLE postrider_list_member (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  list       INTEGER NOT NULL REFERENCES postrider_list (id) ON DELETE CASCADE,
  joined_at  INTEGER NOT NULL,
  left_at    INTEGER,
  channel    INTEGER NOT NULL,  -- 0: a contact
  contact    TEXT NOT NULL,
  comparable TEXT NOT NULL,     -- the address as it is compared
  address    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX postrider_list_member_once ON postrider_list_member (list, channel, contact, comparable) WHERE left_at IS NULL;
CREATE INDEX postrider_list_member_by_list ON postrider_list_member (list, id);
CREATE INDEX postrider_list_member_by_contact ON postrider_list_member (contact) WHERE left_at IS NULL AND contact <> '';

CREATE TABLE postrider_suppression (
  tenant     INTEGER NOT NULL,
  channel    INTEGER NOT NULL,
  cause      INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  comparable TEXT NOT NULL,  -- the address as it is compared
  address    TEXT NOT NULL,
  evidence   TEXT NOT NULL,
  PRIMARY KEY (tenant, channel, comparable)
) STRICT;

-- What was written late, just before sending: its delivery row had no content yet. Not kept where it held a secret.
CREATE TABLE postrider_rendering (
  delivery         INTEGER PRIMARY KEY,
  at               INTEGER NOT NULL,
  template_version INTEGER NOT NULL,
  locale           TEXT NOT NULL,
  subject          TEXT NOT NULL,
  body             TEXT NOT NULL,
  html             TEXT NOT NULL,
  warnings         TEXT NOT NULL
) STRICT;

ALTER TABLE postrider_delivery ADD COLUMN template_id INTEGER NOT NULL DEFAULT 0;  -- 0: a template of the configuration file, or none
ALTER TABLE postrider_delivery ADD COLUMN rendering INTEGER NOT NULL DEFAULT 0;  -- 1: just before sending
ALTER TABLE postrider_delivery ADD COLUMN contact TEXT NOT NULL DEFAULT '';
ALTER TABLE postrider_delivery ADD COLUMN category TEXT NOT NULL DEFAULT '';
ALTER TABLE postrider_delivery ADD COLUMN locale TEXT NOT NULL DEFAULT '';
ALTER TABLE postrider_delivery ADD COLUMN quiet TEXT NOT NULL DEFAULT '';  -- "22:00-08:00 Europe/Berlin": not sent then
ALTER TABLE postrider_message_state ADD COLUMN as_of INTEGER;  -- whose list was looked at as it was then
CREATE INDEX postrider_delivery_by_contact ON postrider_delivery (tenant, contact, id) WHERE contact <> '';
-- What was told about one thing, and what still waits.
CREATE INDEX postrider_message_by_entity ON postrider_message (tenant, entity_id) WHERE entity_id <> '';
-- Only at-most-once rows are in it: they are claimed apart, and nobody looks for them among all the others.
CREATE INDEX postrider_queue_once ON postrider_queue (lane, channel, tenant, position) WHERE guarantee = 2;
