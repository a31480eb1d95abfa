-- Templates, people and lists; and what a delivery knows about its recipient and its content.

-- What the engine keeps in memory, and when it changed: whoever keeps a copy reads again when the number moved.
CREATE TABLE postrider.catalog (name text PRIMARY KEY, version bigint NOT NULL) WITH (fillfactor = 10);
INSERT INTO postrider.catalog (name, version) VALUES ('templates', 1);

-- One per (tenant, key, channel, scope); tenant 0: every tenant; channel NULL: a partial, included by its key.
CREATE TABLE postrider.template (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  tenant     integer NOT NULL,
  version    integer NOT NULL,
  channel    smallint,
  active     boolean NOT NULL,
  used       boolean NOT NULL DEFAULT false,  -- a delivery refers to it
  key        text NOT NULL,
  name       text NOT NULL,
  type       text NOT NULL,
  scope_type text NOT NULL,
  scope_id   text NOT NULL
);
CREATE UNIQUE INDEX template_by_key ON postrider.template (tenant, key, coalesce(channel, 0), scope_type, scope_id);
CREATE UNIQUE INDEX template_by_type ON postrider.template (tenant, type, channel, scope_type, scope_id)
  WHERE active AND type <> '' AND channel IS NOT NULL;

-- Append-only: every version with its name, type and texts.
CREATE TABLE postrider.template_version (
  template bigint NOT NULL REFERENCES postrider.template (id) ON DELETE CASCADE,
  version  integer NOT NULL,
  at       bigint NOT NULL,
  name     text NOT NULL,
  type     text NOT NULL,
  PRIMARY KEY (template, version)
);
CREATE TABLE postrider.template_text (
  template          bigint NOT NULL REFERENCES postrider.template (id) ON DELETE CASCADE,
  version           integer NOT NULL,
  locale            text NOT NULL,
  subject           text NOT NULL,
  body              text NOT NULL,
  html              text NOT NULL,
  provider_template text NOT NULL,
  provider_params   text NOT NULL,
  PRIMARY KEY (template, version, locale)
);

CREATE TABLE postrider.contact (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  updated_at  bigint NOT NULL,
  tenant      integer NOT NULL,
  key         text COLLATE "C" NOT NULL,
  name        text NOT NULL,
  locale      text NOT NULL,
  timezone    text NOT NULL,
  quiet_hours text NOT NULL,  -- "22:00-08:00", or empty
  attributes  text NOT NULL,
  UNIQUE (tenant, key)
);
CREATE TABLE postrider.contact_address (
  contact bigint NOT NULL REFERENCES postrider.contact (id) ON DELETE CASCADE,
  tenant  integer NOT NULL,
  channel smallint NOT NULL,
  address text NOT NULL,
  PRIMARY KEY (contact, channel)
);
CREATE INDEX contact_address_by_address ON postrider.contact_address (tenant, address);
CREATE TABLE postrider.contact_preference (
  contact  bigint NOT NULL REFERENCES postrider.contact (id) ON DELETE CASCADE,
  at       bigint NOT NULL,
  channel  smallint NOT NULL,  -- 0: every channel
  allowed  boolean NOT NULL,
  category text NOT NULL,      -- empty: every category
  source   text NOT NULL,
  PRIMARY KEY (contact, channel, category)
);

-- Lists and members are ended, not deleted: who was on a list at a given time stays known.
CREATE TABLE postrider.list (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  updated_at  bigint NOT NULL,
  made_at     bigint NOT NULL,
  ended_at    bigint,
  tenant      integer NOT NULL,
  name        text COLLATE "C" NOT NULL,
  description text NOT NULL
);
CREATE UNIQUE INDEX list_by_name ON postrider.list (tenant, name) WHERE ended_at IS NULL;
CREATE INDEX list_of_old ON postrider.list (tenant, name, made_at);
CREATE TABLE postrider.list_member (
  id         bigint GENERATED ALWAYS AS IDENTITY,
  list       bigint NOT NULL REFERENCES postrider.list (id) ON DELETE CASCADE,
  joined_at  bigint NOT NULL,
  left_at    bigint,
  channel    smallint NOT NULL,  -- 0: a contact
  contact    text NOT NULL,
  comparable text NOT NULL,      -- the address as it is compared
  address    text NOT NULL,
  PRIMARY KEY (list, id)
);
CREATE UNIQUE INDEX list_member_once ON postrider.list_member (list, channel, contact, comparable) WHERE left_at IS NULL;
CREATE INDEX list_member_by_contact ON postrider.list_member (contact) WHERE left_at IS NULL AND contact <> '';

CREATE TABLE postrider.suppression (
  tenant     integer NOT NULL,
  channel    smallint NOT NULL,
  cause      smallint NOT NULL,
  at         bigint NOT NULL,
  comparable text COLLATE "C" NOT NULL,  -- the address as it is compared
  address    text NOT NULL,
  evidence   text NOT NULL,
  PRIMARY KEY (tenant, channel, comparable)
);

-- What was written late, just before sending: its delivery row had no content yet. Not kept where it held a secret.
CREATE TABLE postrider.rendering (
  delivery         bigint PRIMARY KEY,
  at               bigint NOT NULL,
  template_version integer NOT NULL,
  locale           text NOT NULL,
  subject          text NOT NULL,
  body             text NOT NULL,
  html             text NOT NULL,
  warnings         text NOT NULL
);

ALTER TABLE postrider.delivery
  ADD COLUMN template_id bigint NOT NULL DEFAULT 0,   -- 0: a template of the configuration file, or none
  ADD COLUMN rendering smallint NOT NULL DEFAULT 0,   -- 1: just before sending
  ADD COLUMN contact text NOT NULL DEFAULT '',
  ADD COLUMN category text NOT NULL DEFAULT '',
  ADD COLUMN locale text NOT NULL DEFAULT '',
  ADD COLUMN quiet text NOT NULL DEFAULT '';          -- "22:00-08:00 Europe/Berlin": not sent then
ALTER TABLE postrider.message_state ADD COLUMN as_of bigint;  -- whose list was looked at as it was then
CREATE INDEX delivery_by_contact ON postrider.delivery (tenant, contact, id) WHERE contact <> '';
-- What was told about one thing, and what still waits.
CREATE INDEX message_by_entity ON postrider.message (tenant, entity_id) WHERE entity_id <> '';
-- Only at-most-once rows are in it: they are claimed apart, and nobody looks for them among all the others.
CREATE INDEX queue_once ON postrider.queue (lane, channel, tenant, position) WHERE guarantee = 2;
