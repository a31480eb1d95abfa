-- The tables of Postrider. They may live in the application's own file, so every name starts with postrider_.
-- Times are microseconds since 1970, ids are 63-bit and grow with time, numbers of enums are those of the core.

CREATE TABLE postrider_schema (version INTEGER PRIMARY KEY) STRICT;

-- What producers INSERT: the public contract. Only type and payload are required. Nothing is checked here: a producer's
-- transaction must never fail because of us, so everything is judged when the row is expanded.
CREATE TABLE postrider_outbox (
  position         INTEGER PRIMARY KEY AUTOINCREMENT,
  accepted         INTEGER,  -- the engine's own: set when the HTTP API admitted the row
  id               TEXT DEFAULT (printf('%08x-%04x-7%03x-%04x-%012x',
                     CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) >> 16,
                     CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) & 65535,
                     random() & 4095, (random() & 16383) | 32768, random() & 281474976710655)),
  tenant           TEXT DEFAULT 'default',
  topic            TEXT,
  type             TEXT NOT NULL,
  entity_id        TEXT,
  version          TEXT,
  idempotency_key  TEXT,
  payload          TEXT NOT NULL,
  sealed           TEXT,
  lane             TEXT,
  category         TEXT,
  locale           TEXT,
  origin           TEXT,
  correlation_id   TEXT,
  traceparent      TEXT,
  schema_version   TEXT,
  occurred_at      TEXT,
  due_at           TEXT,
  expires_at       TEXT,
  source_site      TEXT,
  source_instance  TEXT,
  source_script    TEXT,
  site_enqueued_at TEXT,
  type_data        TEXT,
  channel          TEXT,
  recipient        TEXT,
  contact          TEXT,
  list             TEXT,
  subject          TEXT,
  body             TEXT,
  template         TEXT
);

-- Only rows that name the priority lane are in it: they overtake the others here already, and no other INSERT pays for that.
CREATE INDEX postrider_outbox_priority ON postrider_outbox (position) WHERE lane = 'priority';

-- Written once.
CREATE TABLE postrider_message (
  id               INTEGER PRIMARY KEY,
  uuid             BLOB NOT NULL,
  tenant           INTEGER NOT NULL,  -- 0: the name is not known here
  accepted_at      INTEGER NOT NULL,
  tenant_name      TEXT NOT NULL,
  topic            TEXT NOT NULL,
  type             TEXT NOT NULL,
  entity_id        TEXT NOT NULL,
  version          TEXT NOT NULL,
  idempotency_key  TEXT NOT NULL,
  lane             INTEGER,
  category         TEXT NOT NULL,
  locale           TEXT NOT NULL,
  origin           TEXT NOT NULL,
  correlation_id   TEXT NOT NULL,
  traceparent      TEXT NOT NULL,
  schema_version   TEXT NOT NULL,
  occurred_at      INTEGER,
  due_at           INTEGER,
  expires_at       INTEGER,
  source_site      TEXT NOT NULL,
  source_instance  TEXT NOT NULL,
  source_script    TEXT NOT NULL,
  site_enqueued_at INTEGER,
  channel          INTEGER,
  recipient        TEXT NOT NULL,
  contact          TEXT NOT NULL,
  list             TEXT NOT NULL,
  template         TEXT NOT NULL,
  subject          TEXT NOT NULL,
  type_data        TEXT NOT NULL,
  body             TEXT NOT NULL,
  payload          TEXT NOT NULL
) STRICT;
CREATE INDEX postrider_message_by_tenant ON postrider_message (tenant, id);

-- No row: expanded, and nothing more to say. A message without deliveries always has one.
CREATE TABLE postrider_message_state (
  message  INTEGER PRIMARY KEY,
  tenant   INTEGER NOT NULL,
  state    INTEGER NOT NULL,
  reason   INTEGER NOT NULL,
  detail   TEXT NOT NULL,
  at       INTEGER NOT NULL,
  attempts INTEGER NOT NULL,  -- of expanding
  cursor   INTEGER NOT NULL,  -- (template x recipient) pairs already made
  skipped  TEXT NOT NULL      -- delivery keys that existed already, of the chunks so far
) STRICT;
CREATE INDEX postrider_message_state_by_state ON postrider_message_state (tenant, state, message);

-- Apart from its message, so that it can be erased when the last delivery is settled.
CREATE TABLE postrider_secret (message INTEGER PRIMARY KEY, sealed TEXT NOT NULL) STRICT;

-- Written once.
CREATE TABLE postrider_delivery (
  id               INTEGER PRIMARY KEY,
  message          INTEGER NOT NULL,
  uuid             BLOB NOT NULL,  -- the message's
  tenant           INTEGER NOT NULL,
  channel          INTEGER NOT NULL,
  lane             INTEGER NOT NULL,
  guarantee        INTEGER NOT NULL,
  type             TEXT NOT NULL,
  origin           TEXT NOT NULL,
  traceparent      TEXT NOT NULL,
  recipient        TEXT NOT NULL,
  "key"            TEXT NOT NULL,
  template         TEXT NOT NULL,
  template_version INTEGER NOT NULL,
  expires_at       INTEGER,
  warnings         TEXT NOT NULL,
  subject          TEXT NOT NULL,
  body             TEXT NOT NULL,
  html             TEXT NOT NULL
) STRICT;
CREATE INDEX postrider_delivery_by_message ON postrider_delivery (message);
CREATE INDEX postrider_delivery_by_tenant ON postrider_delivery (tenant, id);
CREATE INDEX postrider_delivery_by_recipient ON postrider_delivery (tenant, recipient, id);

-- A delivery is in exactly one of the next four. In the queue with a node: sending.
CREATE TABLE postrider_queue (
  lane       INTEGER NOT NULL,
  channel    INTEGER NOT NULL,  -- 0: a message that waits to be expanded
  tenant     INTEGER NOT NULL,
  position   INTEGER NOT NULL,
  id         INTEGER NOT NULL,
  node       INTEGER NOT NULL,  -- 0: nobody
  fence      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  provider   INTEGER NOT NULL,
  guarantee  INTEGER NOT NULL,
  claimed_at INTEGER,
  expires_at INTEGER,
  PRIMARY KEY (lane, channel, tenant, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE postrider_deferred (
  due_at     INTEGER NOT NULL,
  id         INTEGER NOT NULL,
  lane       INTEGER NOT NULL,
  channel    INTEGER NOT NULL,
  tenant     INTEGER NOT NULL,
  fence      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  guarantee  INTEGER NOT NULL,
  reason     INTEGER NOT NULL,
  expires_at INTEGER,
  detail     TEXT NOT NULL,
  PRIMARY KEY (due_at, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX postrider_deferred_by_id ON postrider_deferred (id);

CREATE TABLE postrider_parked (
  id         INTEGER PRIMARY KEY,
  tenant     INTEGER NOT NULL,
  lane       INTEGER NOT NULL,
  channel    INTEGER NOT NULL,
  fence      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  guarantee  INTEGER NOT NULL,
  reason     INTEGER NOT NULL,
  detail     TEXT NOT NULL,
  at         INTEGER NOT NULL,
  expires_at INTEGER
) STRICT;

CREATE TABLE postrider_settled (
  id     INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  state  INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  detail TEXT NOT NULL,
  at     INTEGER NOT NULL
) STRICT;

-- Append-only. seq 0 is the call's end (or unclear by take-over), seq 1 what its node reported late.
CREATE TABLE postrider_attempt (
  delivery            INTEGER NOT NULL,
  fence               INTEGER NOT NULL,
  seq                 INTEGER NOT NULL,
  attempt             INTEGER NOT NULL,
  node                INTEGER NOT NULL,
  provider            INTEGER NOT NULL,
  outcome             INTEGER NOT NULL,
  reason              INTEGER NOT NULL,
  provider_message_id TEXT NOT NULL,
  excerpt             TEXT NOT NULL,
  started_at          INTEGER NOT NULL,
  ended_at            INTEGER NOT NULL,
  PRIMARY KEY (delivery, fence, seq)
) STRICT, WITHOUT ROWID;

-- Only the engine's own transactions write here.
CREATE TABLE postrider_dedup (
  tenant INTEGER NOT NULL,
  kind   INTEGER NOT NULL,
  hash   BLOB NOT NULL,
  id     INTEGER NOT NULL,
  body   BLOB,
  uuid   BLOB,
  PRIMARY KEY (tenant, kind, hash)
) STRICT, WITHOUT ROWID;

-- One row per process start, only while it lives. AUTOINCREMENT: a number is never given twice.
CREATE TABLE postrider_node (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  slot       INTEGER NOT NULL UNIQUE,
  name       TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  beats      INTEGER NOT NULL,
  beat_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE postrider_singleton (
  name       TEXT PRIMARY KEY,
  node       INTEGER NOT NULL,
  epoch      INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE postrider_tenant (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE postrider_provider (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE postrider_api_key (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL,
  hash       TEXT NOT NULL UNIQUE,
  tenant     INTEGER,
  role       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

CREATE TABLE postrider_audit (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  actor    TEXT NOT NULL,
  action   TEXT NOT NULL,
  why      TEXT NOT NULL,
  message  INTEGER,
  delivery INTEGER,
  detail   TEXT NOT NULL
) STRICT;
