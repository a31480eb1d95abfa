#!/usr/bin/python3
"""PostgreSQL itself in trouble: a disk that is full, with a server of its own. (Stops and power cuts are in tests/faults.)"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import wait_for

BIN = "/usr/lib/postgresql/15/bin"


class Server:
    """A throw-away cluster; PostgreSQL refuses to run as root, so root lends it another user."""

    def __init__(self, folder):
        self.data = os.path.join(folder, "data")
        self.port = harness.free_port()
        self.prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.prefix:
            shutil.chown(folder, "postgres")
        self.run(f"{BIN}/initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="ascii") as file:
            file.write(f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{folder}'\n"
                       "min_wal_size = 32MB\nmax_wal_size = 64MB\nshared_buffers = 16MB\n")
        self.start()

    def run(self, *command, check=True):
        return subprocess.run([*self.prefix, *command], check=check, capture_output=True, text=True, timeout=60)

    def start(self):
        return self.run(f"{BIN}/pg_ctl", "-D", self.data, "-l", self.data + "/log", "-w", "-t", "30", "start", check=False).returncode == 0

    def stop(self, mode="immediate"):
        self.run(f"{BIN}/pg_ctl", "-D", self.data, "-m", mode, "-w", "stop", check=False)

    def url(self, database="postgres"):
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"


class OwnPostgres(harness.Postgres):
    """The harness's store on a server of this test's own."""

    def __init__(self, home):
        import psycopg2
        self.driver = psycopg2
        self.database = "postgres"
        self.url = OwnPostgres.server.url()

    def close(self):
        pass


class Faults(harness.Case):
    store_kind = OwnPostgres

    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="postrider-pg-"))
        os.chmod(self.folder, 0o755)
        self.prepare(stack)
        OwnPostgres.server = self.server = Server(self.folder)
        stack.callback(self.server.stop)
        super().setUp()

    def prepare(self, stack):
        pass

    def post(self, engine, **message):
        try:
            return engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {}, **message})
        except OSError:
            return 0, {}

    def all_took_effect(self, accepted):
        return not set(accepted) - set(self.provider.effects())


class FullDisk(Faults):
    def prepare(self, stack):
        if os.geteuid() != 0:
            self.skipTest("a small file system needs root: PostgreSQL on a full disk was NOT tested")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=150m", "tmpfs", self.folder], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest(f"no file system can be mounted here ({done.stderr.strip()}): PostgreSQL on a full disk was NOT tested")
        stack.callback(lambda: subprocess.run(["umount", "-l", self.folder], check=False))

    def test_a_full_disk_refuses_messages_clearly_and_nothing_accepted_is_lost(self):
        engine = self.start()
        accepted, refused = [], None
        for _ in range(2000):
            status, answer = self.post(engine, payload={"filler": os.urandom(100_000).hex()})
            if status == 202:
                accepted.append(answer["id"])
            else:
                refused = (status, answer)
                break
        self.assertIsNotNone(refused, "the disk never became full")
        self.assertEqual(refused[0], 503, refused)
        self.assertIsNone(engine.process.poll(), "the engine lives on")
        subprocess.run(["mount", "-o", "remount,size=900m", self.folder], check=True)
        self.server.start()  # a full WAL disk stops PostgreSQL itself
        wait_for("messages are accepted again", lambda: self.post(engine)[0] == 202, 60, 0.5)
        wait_for("everything accepted took effect", lambda: self.all_took_effect(accepted), 90, 0.5)


if __name__ == "__main__":
    sys.exit(harness.main())
