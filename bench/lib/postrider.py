"""Postrider under measurement: a home, a store of either kind, engines, and the ways through it."""
import os
import sqlite3
import subprocess
import tempfile
import time

from lib import content, machine, mock

PATIENCE = 900


class Postgres:
    name = "pg"

    def __init__(self, home, server):
        self.database = server.database()
        self.url = self.database.url

    def fill(self, first, count, columns="", values=""):
        self.database.query(f"INSERT INTO postrider.outbox (type, payload{columns}) SELECT '{content.TYPE}', {content.payload_sql()}{values} "
                            f"FROM generate_series({first}, {first + count - 1}) i")

    def query(self, sql):
        return self.database.query(sql)

    def settle(self):
        self.database.settle()

    def close(self):
        self.database.__exit__()


class Sqlite:
    name = "sqlite"

    def __init__(self, home, server):
        self.path, self.url = f"{home}/postrider.db", "sqlite:postrider.db"
        self.connection = None

    def connect(self):
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def fill(self, first, count, recipient=""):
        connection = self.connect()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(f"INSERT INTO postrider_outbox (type, payload) VALUES ('{content.TYPE}', ?)",
                               ((content.payload_text(i, recipient),) for i in range(first, first + count)))
        connection.execute("COMMIT")
        connection.close()

    def query(self, sql):
        if self.connection is None:
            self.connection = self.connect()
        return self.connection.execute(sql.replace("postrider.", "postrider_")).fetchall()

    def settle(self):
        connection = self.connect()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        os.sync()

    def close(self):
        if self.connection is not None:
            self.connection.close()


class Home:
    """A folder with a configuration and a store; ends its engines whatever happens."""

    def __init__(self, bench, kind, provider_url, extra=""):
        self.bench, self.provider_url, self.extra = bench, provider_url, extra
        self.temporary = tempfile.TemporaryDirectory(prefix="postrider-bench-", dir=bench.folder)
        self.path = self.temporary.name
        self.store = kind(self.path, bench.server)
        self.engines = []
        self.configure()
        subprocess.run([bench.binary, "--home", self.path, "migrate"], check=True, stdout=subprocess.DEVNULL)

    def configure(self, sends=True):
        with open(f"{self.path}/postrider.toml", "w", encoding="utf-8") as file:
            file.write(f"""[store]
url = "{self.store.url}"
[providers.hook]
type = "webhook"
url = "{self.provider_url}"
allow_internal = true
[channels]
{'webhook = ["hook"]' if sends else ''}
[[routes]]
type = "{content.TYPE}"
[[templates]]
key = "shipped"
type = "{content.TYPE}"
channel = "webhook"
subject = "{content.SUBJECT}"
body = "{content.TEMPLATE}"
{self.extra}
""")

    def start(self, roles=None):
        engine = Engine(self.bench.binary, self.path, roles)
        self.engines.append(engine)
        return engine

    def count(self, table):
        return self.store.query(f"SELECT count(*) FROM postrider.{table}")[0][0]

    def empty(self, *tables):
        return all(self.store.query(f"SELECT NOT EXISTS (SELECT 1 FROM postrider.{table})")[0][0] for table in tables)

    def wait_empty(self, *tables, every=0.003, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while not self.empty(*tables):
            if time.monotonic() > until:
                raise machine.Refused(f"{', '.join(tables)} not empty within {seconds} s")
            if self.engines and all(engine.process.poll() is not None for engine in self.engines):
                raise machine.Refused("the engine ended: " + self.engines[-1].text()[-300:])
            time.sleep(every)

    def queue_up(self, count, columns="", values=""):
        """Brings `count` rendered deliveries into the queue, owned by nobody."""
        if self.store.name == "pg":
            self.store.fill(1, count, columns, values)
            engine = self.start("expand")
        else:
            # One process owns a SQLite file and has all roles: nobody sends because the channel has no provider yet. Without one the
            # address cannot be the provider's, so it is in the payload.
            self.store.fill(1, count, self.provider_url)
            self.configure(sends=False)
            engine = self.start()
        self.wait_empty("outbox", every=0.02)
        engine.stop()
        self.configure()
        waiting = self.count("queue")
        if waiting != count:
            raise machine.Refused(f"{waiting} of {count} deliveries in the queue")

    def finished(self):
        return self.store.query("SELECT count(*) FROM postrider.settled WHERE state = 4")[0][0], self.count("attempt")

    def check(self, count, before):
        """Every delivery was posted once, is settled as delivered, and has its audit row."""
        if self.bench.sabotage:
            self.bench.sabotage(self.store.query, {"log": ("postrider.attempt", "delivery"), "outcome": ("postrider.settled", "id")})
        served = self.bench.nginx.requests()
        delivered, attempts = (now - was for now, was in zip(self.finished(), before))
        if not served == delivered == attempts == count:
            raise machine.Refused(f"of {count}: {served} POSTs served, {delivered} delivered, {attempts} audit rows")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for engine in self.engines:
            engine.kill()
        self.store.close()
        self.temporary.cleanup()


class Engine:
    def __init__(self, binary, home, roles):
        self.port = mock.free_port()
        self.log_path = f"{home}/engine-{self.port}.log"
        self.log = open(self.log_path, "wb")
        self.started = time.monotonic()
        self.process = subprocess.Popen([binary, "--home", home, "serve", "--listen", f"127.0.0.1:{self.port}",
                                         *(["--roles", roles] if roles else [])], stdout=self.log, stderr=self.log)
        self.pid = self.process.pid

    def text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def ready(self, seconds=30):
        until = time.monotonic() + seconds
        while "postrider ready" not in self.text():
            if self.process.poll() is not None or time.monotonic() > until:
                raise machine.Refused("the engine is not ready: " + self.text()[-300:])
            time.sleep(0.005)
        return self

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        machine.end(self.process)
        self.log.close()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()


def watch(bench, home, engine, count, tables):
    """From the first POST that the provider saw until the last outcome is on disk."""
    bench.nginx.wait_for(1, 60, every=0.001, alive=engine.alive)
    meter = Meter(bench, home, engine)
    served = bench.nginx.wait_for(count, PATIENCE, alive=engine.alive)
    home.wait_empty(*tables)
    figures = meter.stop(count)
    figures["served"] = served
    return figures


class Meter:
    """The machine's meter, and what one notification cost. Those that were served while it was being read out cost it nothing, so they are
    left out of the costs (not out of the rate)."""

    def __init__(self, bench, home, engine):
        self.bench, self.engine = bench, engine
        self.postgres = home.store.name == "pg"
        self.meter = machine.Meter(engine=engine.pid, **({"postgres": bench.server.pid} if self.postgres else {}))
        self.before = bench.nginx.requests()
        self.wal = bench.server.wal_position() if self.postgres else 0

    def stop(self, count):
        figures = self.meter.stop()
        counted = count - self.before
        figures.update(count=count, rate=count / figures["seconds"], seconds_from_start=time.monotonic() - self.engine.started,
                       engine_us=figures["engine_cpu"] * 1e6 / counted, rss_mb=machine.peak_mb(self.engine.pid))
        figures["cpu_us"] = figures["engine_us"]
        if self.postgres:
            figures["postgres_us"] = figures["postgres_cpu"] * 1e6 / counted
            figures["cpu_us"] += figures["postgres_us"]
            figures["wal_bytes"] = (self.bench.server.wal_position() - self.wal) / counted
        return figures


def drain(bench, kind, count):
    """Deliveries that wait in the queue, rendered: claim, POST, audit row. The peers' job."""
    with Home(bench, kind, bench.nginx.url) as home:
        return drain_in(bench, home, count)


def drain_in(bench, home, count):
    """The same in a home that may have a past."""
    before = home.finished()
    home.queue_up(count)
    home.store.settle()
    bench.nginx.mark()
    engine = home.start("send,maintain" if home.store.name == "pg" else None)
    figures = watch(bench, home, engine, count, ("queue", "deferred"))
    engine.stop()
    home.check(count, before)
    return figures


def whole_way(bench, kind, count):
    """Rows that are committed in the outbox: expand, render, claim, POST, audit row. Counted from the engine's start."""
    with Home(bench, kind, bench.nginx.url) as home:
        home.store.fill(1, count)
        home.store.settle()
        bench.nginx.mark()
        engine = home.start()
        meter = Meter(bench, home, engine)
        bench.nginx.wait_for(count, PATIENCE, alive=engine.alive)
        home.wait_empty("outbox", "queue", "deferred")
        figures = meter.stop(count)
        engine.stop()
        home.check(count, (0, 0))
        return figures
