#!/usr/bin/python3
"""usage: python_psycopg.py postgresql://…   (psycopg 3; Debian: python3-psycopg)"""
import json
import sys

import psycopg

with psycopg.connect(sys.argv[1]) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS booking (id text PRIMARY KEY, status text NOT NULL)")
    connection.commit()
    with connection.transaction():
        connection.execute("INSERT INTO booking VALUES (%s, 'confirmed') ON CONFLICT (id) DO UPDATE SET status = 'confirmed'", ["python-1"])
        row = connection.execute(
            "INSERT INTO postrider.outbox (type, entity_id, idempotency_key, payload) VALUES (%s, %s, %s, %s) RETURNING id",
            ["booking.confirmed", "python-1", "booking:python-1:confirmed:1", json.dumps({"bookingId": "python-1"})],
        ).fetchone()
print(row[0])
