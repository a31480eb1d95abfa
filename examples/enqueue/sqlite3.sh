#!/usr/bin/env bash
# usage: sqlite3.sh FILE (the file that Postrider uses, or your own with Postrider's tables in it)
set -euo pipefail
sqlite3 -batch "$1" <<'SQL'
.timeout 5000
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS booking (id TEXT PRIMARY KEY, status TEXT NOT NULL);
BEGIN IMMEDIATE;
INSERT INTO booking VALUES ('sqlite3-1', 'confirmed') ON CONFLICT (id) DO UPDATE SET status = 'confirmed';
INSERT INTO postrider_outbox (type, entity_id, idempotency_key, payload)
VALUES ('booking.confirmed', 'sqlite3-1', 'booking:sqlite3-1:confirmed:1', '{"bookingId": "sqlite3-1"}')
RETURNING id;
COMMIT;
SQL
