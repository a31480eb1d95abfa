"""A real engine, a real store and a real HTTP provider with its own ledger, for tests that look from outside."""
import contextlib
import email
import http.client
import http.server
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("POSTRIDER_BIN", os.path.join(ROOT, "build/release/postrider"))
SERVER_URL = os.environ.get("POSTRIDER_TEST_PG", "")


next_port = 20000 + os.getpid() * 61 % 9000  # tests that were started together begin far from each other


def free_port():
    """A port that is free now and was not given before, below the range that outgoing connections use."""
    global next_port
    for port in range(next_port, 32000):
        next_port = port + 1
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port")


def wait_for(what, condition, seconds=30.0, every=0.02):
    """Waits until the condition gives something true, and gives it back."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(every)


class Provider:
    """A provider's cloud: answers as told, and keeps its own append-only ledger of what really arrived."""

    def __init__(self, answer=None):
        self.calls = []
        self.lock = threading.Lock()
        self.answer = answer or (lambda call: (200, b'{"id":"ok"}'))
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                call = {"key": self.headers.get("idempotency-key"), "body": body, "headers": dict(self.headers), "path": self.path}
                with provider.lock:
                    provider.calls.append(call)
                    call["number"] = len(provider.calls)
                status, answer = provider.answer(call)
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

            def handle_error(self, *args):  # an engine that is killed leaves broken connections; that is the test
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/in"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def bodies(self):
        with self.lock:
            return [call["body"] for call in self.calls]

    def effects(self):
        """How often each message took effect here: a call is an effect, whatever its key."""
        counts = {}
        with self.lock:
            for call in self.calls:
                message = json.loads(call["body"])["id"]
                counts[message] = counts.get(message, 0) + 1
        return counts

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class MailServer:
    """A real SMTP server with a ledger. `refuse` answers a recipient (nothing: it is taken), `answer` a mail (nothing: it is taken, and the
    connection breaks before anybody can say so)."""

    def __init__(self, refuse=None, answer=None):
        from aiosmtpd.controller import Controller  # Debian's python3-aiosmtpd

        self.mails = []
        self.refuse = refuse or (lambda address: None)
        self.answer = answer or (lambda mail: "250 2.0.0 queued")
        ledger = self

        class Handler:
            async def handle_RCPT(self, server, session, envelope, address, options):
                refusal = ledger.refuse(address)
                if not refusal:
                    envelope.rcpt_tos.append(address)
                return refusal or "250 ok"

            async def handle_DATA(self, server, session, envelope):
                mail = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "message": email.message_from_bytes(envelope.content)}
                ledger.mails.append(mail)
                answer = ledger.answer(mail)
                if not answer:
                    server.transport.abort()
                return answer or "421 gone"

        self.controller = Controller(Handler(), hostname="127.0.0.1", port=free_port())
        self.controller.start()

    def settings(self):
        """Of a provider that talks to it."""
        return (f'type = "smtp"\nhost = "127.0.0.1"\nport = {self.controller.port}\ntls = "none"\n'
                'from = "Postrider <noreply@example.org>"\nallow_internal = true')

    def close(self):
        self.controller.stop()


class Sqlite:
    name = "sqlite"

    def __init__(self, home):
        self.path = os.path.join(home, "postrider.db")
        self.url = "sqlite:postrider.db"

    def connect(self):
        connection = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def insert(self, connection, **columns):
        """A plain INSERT in a transaction of the application's own; gives the id when it is committed."""
        names = ", ".join(columns)
        connection.execute("BEGIN IMMEDIATE")
        row = connection.execute(
            f"INSERT INTO postrider_outbox ({names}) VALUES ({', '.join('?' * len(columns))}) RETURNING id", list(columns.values())
        ).fetchone()
        connection.execute("COMMIT")
        return row[0]

    def query(self, sql):
        """SQL written for PostgreSQL's names."""
        connection = self.connect()
        try:
            return connection.execute(sql.replace("postrider.", "postrider_")).fetchall()
        finally:
            connection.close()

    def run(self, sql):
        self.query(sql)  # each statement is a transaction of its own

    def has_open_transaction(self):
        """Whether somebody reads or writes at this moment: then the log of changes cannot be emptied."""
        connection = self.connect()
        try:
            connection.execute("PRAGMA busy_timeout = 0")
            return connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] != 0
        finally:
            connection.close()

    def close(self):
        pass


class Postgres:
    name = "postgres"
    number = 0

    def __init__(self, home):
        import psycopg2  # Debian's python3-psycopg2

        if not SERVER_URL:
            raise RuntimeError("POSTRIDER_TEST_PG is not set: run this under tools/with-postgres")
        Postgres.number += 1
        self.driver = psycopg2
        self.database = f"postrider_e2e_{os.getpid()}_{Postgres.number}"
        self.admin(f"CREATE DATABASE {self.database}")
        base, _, query = SERVER_URL.partition("?")
        self.url = base.rsplit("/", 1)[0] + "/" + self.database + ("?" + query if query else "")

    def admin(self, sql):
        connection = self.driver.connect(SERVER_URL)
        connection.autocommit = True
        connection.cursor().execute(sql)
        connection.close()

    def connect(self):
        return self.driver.connect(self.url)

    def insert(self, connection, **columns):
        names = ", ".join(columns)
        cursor = connection.cursor()
        cursor.execute(
            f"INSERT INTO postrider.outbox ({names}) VALUES ({', '.join(['%s'] * len(columns))}) RETURNING id", list(columns.values())
        )
        row = cursor.fetchone()
        connection.commit()
        return row[0]

    def query(self, sql):
        connection = self.connect()
        try:
            cursor = connection.cursor()
            cursor.execute(sql)
            return cursor.fetchall()
        finally:
            connection.close()

    def run(self, sql):
        connection = self.connect()
        connection.cursor().execute(sql)
        connection.commit()
        connection.close()

    def has_open_transaction(self):
        """Whether the engine's store has one that is more than a moment old."""
        return self.query("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'postrider' "
                          "AND xact_start < clock_timestamp() - interval '300 ms'")[0][0] > 0

    def close(self):
        """Dropping it would wait for a checkpoint, and the server is thrown away anyway; but nobody may go on in it."""
        self.admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.database}'")


class Engine:
    """One process of the real binary."""

    def __init__(self, home, arguments=(), environment=None, listen=None):
        self.home = home
        self.port = listen or free_port()
        self.log_path = os.path.join(home, f"engine-{self.port}-{time.monotonic_ns()}.log")
        self.log = open(self.log_path, "wb")
        self.arguments = arguments
        self.process = subprocess.Popen(
            [BINARY, "--home", home, "serve", "--listen", f"127.0.0.1:{self.port}", *arguments],
            stdout=self.log, stderr=self.log, env={**os.environ, **(environment or {})})

    def text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def ready(self, seconds=30):
        def look():
            if self.process.poll() is not None:
                raise AssertionError(f"the engine ended with {self.process.returncode}:\n{self.text()}")
            return "postrider ready" in self.text()

        wait_for("the engine is ready", look, seconds)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def stop(self, seconds=20):
        """SIGTERM; gives the seconds that it took."""
        begun = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(seconds)
        self.log.close()
        return time.monotonic() - begun

    def request(self, method, path, body=None, key=None, headers=None):
        with open(os.path.join(self.home, "admin.key"), encoding="ascii") as file:
            key = key or file.read().strip()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            connection.request(method, path, data, {"authorization": "Bearer " + key, "content-type": "application/json", **(headers or {})})
            reply = connection.getresponse()
            text = reply.read()
            try:
                return reply.status, json.loads(text)
            except ValueError:
                return reply.status, text
        finally:
            connection.close()


class Case(unittest.TestCase):
    """A home folder, a provider, a store of either kind, and engines that are ended whatever happens."""

    store_kind = Sqlite
    policy = 'kind = "fixed"\ninterval = "200ms"\nmax_attempts = 20\ntimeout = "2s"'

    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.home = stack.enter_context(tempfile.TemporaryDirectory(prefix="postrider-e2e-"))
        self.provider = Provider()
        stack.callback(self.provider.close)
        self.store = self.store_kind(self.home)
        stack.callback(self.store.close)
        self.engines = []
        stack.callback(self.end_engines)
        self.configure()

    def end_engines(self):
        for engine in self.engines:
            if engine.process.poll() is None:
                engine.kill()

    def configure(self, extra="", provider=None, store_options=""):
        with open(os.path.join(self.home, "postrider.toml"), "w", encoding="utf-8") as file:
            file.write(f"""
[store]
url = "{self.store.url}"
{store_options}
[providers.hook]
{provider or f'type = "webhook"{chr(10)}url = "{self.provider.url}"{chr(10)}allow_internal = true'}
[channels]
webhook = ["hook"]
[[routes]]
type = "thing.happened"
[[policies]]
{self.policy}
{extra}
""")

    def start(self, *arguments, ready=True, environment=None):
        engine = Engine(self.home, arguments, environment)
        self.engines.append(engine)
        return engine.ready() if ready else engine

    def command(self, *arguments, code=0):
        done = subprocess.run([BINARY, "--home", self.home, *arguments], capture_output=True, text=True, timeout=60)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def send(self, engine, **message):
        status, answer = engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {}, **message})
        self.assertEqual(status, 202, answer)
        return answer["id"]

    def notification(self, engine, message):
        status, answer = engine.request("GET", f"/api/v1/notifications/{message}")
        self.assertEqual(status, 200, answer)
        return answer

    def wait_settled(self, seconds=60):
        """Nothing waits anywhere: outbox, queue and deferred are empty."""
        wait_for("everything settles", lambda: self.store.query(
            "SELECT (SELECT count(*) FROM postrider.outbox) + (SELECT count(*) FROM postrider.queue) + (SELECT count(*) FROM postrider.deferred)"
        )[0][0] == 0, seconds, 0.1)


class SqliteApplication:
    """The application's own database, in a file beside the engine's."""

    def make_application(self):
        self.application_path = os.path.join(self.home, "shop.db")
        self.application_url = "sqlite:shop.db"

    def run_sql(self, sql):
        with sqlite3.connect(self.application_path, timeout=10) as connection:
            connection.execute(sql)
        connection.close()

    def rows(self, sql):
        connection = sqlite3.connect(self.application_path)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


class PostgresApplication:
    """The application's own tables, in the engine's database."""

    def make_application(self):
        self.application_url = self.store.url

    def run_sql(self, sql):
        self.store.run(sql)

    def rows(self, sql):
        return self.store.query(sql)


def main():
    unittest.main(verbosity=2)


if __name__ == "__main__":
    sys.exit("this is a library of the tests")
