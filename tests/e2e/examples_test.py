#!/usr/bin/python3
"""Runs the examples as their readers would, and looks whether the engine sends what they recorded."""
import os
import shutil
import subprocess
import sys
import urllib.parse

import harness
from harness import wait_for

EXAMPLES = os.path.join(harness.ROOT, "examples/enqueue")
BUILD = os.environ.get('POSTRIDER_BUILD') or os.path.dirname(harness.BINARY)


class Examples(harness.Case):
    def configure(self, **options):
        super().configure(extra='[[routes]]\ntype = "booking.confirmed"\n', **options)

    def tell(self, *command):
        engine = self.start()
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        message = done.stdout.strip().splitlines()[-1]
        wait_for("it is sent", lambda: self.notification(engine, message)["status"] == "delivered")
        self.assertEqual(self.store.query("SELECT count(*) FROM booking")[0][0], 1)


class OnSqlite(Examples):
    store_kind = harness.Sqlite

    def test_sqlite3(self):
        self.tell(os.path.join(EXAMPLES, "sqlite3.sh"), self.store.path)

    def test_cpp(self):
        self.tell(os.path.join(BUILD, "enqueue_sqlite"), self.store.path)


class OnPostgres(Examples):
    store_kind = harness.Postgres

    def test_psql(self):
        self.tell(os.path.join(EXAMPLES, "psql.sh"), self.store.url)

    def test_cpp(self):
        self.tell(os.path.join(BUILD, "enqueue_postgres"), self.store.url)

    def test_python(self):
        self.tell("/usr/bin/python3", os.path.join(EXAMPLES, "python_psycopg.py"), self.store.url)

    def test_node(self):
        if not os.path.isdir("/usr/share/nodejs/pg"):
            self.skipTest("Debian's node-pg is not installed here")
        os.environ["NODE_PATH"] = "/usr/share/nodejs"
        self.tell("/usr/bin/node", os.path.join(EXAMPLES, "node_pg.js"), self.store.url)

    def test_java(self):
        if not shutil.which("java") or not os.path.exists("/usr/share/java/postgresql.jar"):
            self.skipTest("a JDK and Debian's libpostgresql-jdbc-java are not installed here")
        url = urllib.parse.urlsplit(self.store.url)
        self.tell("java", "-cp", "/usr/share/java/postgresql.jar", os.path.join(EXAMPLES, "Jdbc.java"),
                  f"jdbc:postgresql://{url.hostname}:{url.port}{url.path}", url.username or "postgres",
                  urllib.parse.unquote(url.password or ""))

    def test_the_producers_role_may_insert_and_read_back_its_id_and_nothing_else(self):
        self.start()
        connection = self.store.connect()
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute("SET ROLE postrider_producer")
        cursor.execute("INSERT INTO postrider.outbox (type, payload) VALUES ('booking.confirmed', '{}') RETURNING id")
        self.assertTrue(cursor.fetchone()[0])
        for forbidden in ["SELECT * FROM postrider.outbox", "UPDATE postrider.outbox SET type = 'x'", "DELETE FROM postrider.outbox",
                          "SELECT * FROM postrider.message", "INSERT INTO postrider.outbox (type, payload, accepted) VALUES ('x', '{}', 1)"]:
            with self.assertRaises(self.store.driver.errors.InsufficientPrivilege, msg=forbidden):
                cursor.execute(forbidden)


if __name__ == "__main__":
    sys.exit(harness.main())
