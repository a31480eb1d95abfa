#!/usr/bin/env bash
# usage: psql.sh postgresql://…
set -euo pipefail
psql "$1" --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 <<'SQL'
CREATE TABLE IF NOT EXISTS booking (id text PRIMARY KEY, status text NOT NULL);
BEGIN;
INSERT INTO booking VALUES ('psql-1', 'confirmed') ON CONFLICT (id) DO UPDATE SET status = 'confirmed';
INSERT INTO postrider.outbox (type, entity_id, idempotency_key, payload)
VALUES ('booking.confirmed', 'psql-1', 'booking:psql-1:confirmed:1', '{"bookingId": "psql-1"}')
RETURNING id;
COMMIT;
SQL
