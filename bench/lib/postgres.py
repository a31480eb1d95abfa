"""The one PostgreSQL of a run: made by tools/with-postgres, tuned the same for everybody, reached over its Unix socket by everybody."""
import os
import subprocess
import time
import urllib.parse

import psycopg2  # Debian's python3-psycopg2

from lib import machine

SETTINGS = {"shared_buffers": "1GB", "wal_compression": "lz4", "max_wal_size": "16GB", "checkpoint_timeout": "30min",
            "checkpoint_completion_target": "0.9", "wal_buffers": "64MB", "effective_cache_size": "4GB", "maintenance_work_mem": "256MB",
            "random_page_cost": "1.1", "synchronous_commit": "on", "fsync": "on", "full_page_writes": "on", "jit": "off"}


class Server:
    def __init__(self):
        self.programs = os.environ["POSTRIDER_TEST_PG_BIN"]
        self.folder = os.environ["POSTRIDER_TEST_PG_DIR"]
        parts = urllib.parse.urlsplit(os.environ["POSTRIDER_TEST_PG"])
        self.user, self.password, self.port = parts.username, parts.password, parts.port
        self.number = 0
        self.admin_connection = None
        for name, value in SETTINGS.items():
            self.admin(f"ALTER SYSTEM SET {name} = '{value}'")
        self.restart()
        self.version = self.admin("SHOW server_version")[0][0]

    def restart(self):
        """Some settings are only read at the start. pg_ctl repeats the command line that with-postgres chose."""
        if self.admin_connection is not None:
            self.admin_connection.close()
            self.admin_connection = None
        owner = os.stat(f"{self.folder}/data")
        as_owner = []
        if os.getuid() == 0:
            as_owner = ["setpriv", "--reuid", str(owner.st_uid), "--regid", str(owner.st_gid), "--clear-groups"]
        subprocess.run([*as_owner, f"{self.programs}/pg_ctl", "restart", "-D", f"{self.folder}/data", "-m", "fast", "-w", "-t", "60",
                        "-l", f"{self.folder}/tuned.log"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        with open(f"{self.folder}/data/postmaster.pid", encoding="ascii") as file:
            self.pid = int(file.readline())
        machine.extra_trees.clear()
        machine.extra_trees.add(self.pid)

    def url(self, database="postgres"):
        return f"postgresql://{self.user}:{self.password}@/{database}?host={urllib.parse.quote(self.folder)}&port={self.port}"

    def environment(self, database):
        """For pgbench, which takes no URL."""
        return {**os.environ, "PGHOST": self.folder, "PGPORT": str(self.port), "PGUSER": self.user, "PGPASSWORD": self.password,
                "PGDATABASE": database}

    def admin(self, sql):
        if self.admin_connection is None:
            self.admin_connection = psycopg2.connect(self.url())
            self.admin_connection.autocommit = True
        cursor = self.admin_connection.cursor()
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []

    def wal_position(self):
        return int(self.admin("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")[0][0])

    def database(self):
        self.number += 1
        return Database(self, f"bench_{self.number}")


class Database:
    """A fresh database, dropped at the end of its with block."""

    def __init__(self, server, name):
        self.server, self.name, self.url = server, name, server.url(name)
        server.admin(f"CREATE DATABASE {name}")
        self.connection = self.connect()

    def connect(self):
        connection = psycopg2.connect(self.url)
        connection.autocommit = True
        return connection

    def query(self, sql, values=None):
        cursor = self.connection.cursor()
        cursor.execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    def number(self, sql):
        return self.query(sql)[0][0]

    def settle(self):
        """The same state before every measured stretch: statistics and visibility fresh, no dirty page, no checkpoint due."""
        self.query("VACUUM (ANALYZE)")
        self.query("CHECKPOINT")

    def pgbench(self, script, clients, seconds):
        """Runs one script; gives back transactions per second."""
        lines = self.pgbench_lines(script, seconds, "-c", str(clients), "-j", str(min(clients, machine.CORES)))
        return next(float(line.split()[2]) for line in lines if line.startswith("tps ="))

    def pgbench_by_turns(self, first, second, turn, seconds):
        """Two statements on one connection, `turn` times the one and `turn` times the other; gives back how many of each fit into a second."""
        script = f"\\set i :i + 1\n\\if (:i / {turn}) % 2 = 0\n{first}\\else\n{second}\\endif\n"
        lines = self.pgbench_lines(script, seconds, "-c", "1", "-D", "i=0", "--report-per-command")
        # milliseconds, failures, the statement
        return [1000 / float(line.split()[0]) for line in lines if line.split()[2:3] == ["INSERT"]]

    def pgbench_lines(self, script, seconds, *options):
        path = f"/tmp/postrider-bench-{os.getpid()}-{time.monotonic_ns()}.sql"
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        try:
            done = subprocess.run(["pgbench", "-n", "-f", path, "-T", str(seconds), "-M", "prepared", *options],
                                  env=self.server.environment(self.name), capture_output=True, text=True, check=False)
        finally:
            os.unlink(path)
        if done.returncode != 0:
            raise machine.Refused(f"pgbench failed: {done.stderr.strip()[-300:]}")
        return done.stdout.splitlines()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.server.admin(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")
