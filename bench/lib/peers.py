"""The peers: one Node process each, the same job, tuned as their documentation says."""
import json
import os
import subprocess
import tempfile
import time

from lib import content, machine

FOLDER = os.path.join(machine.ROOT, "bench", "peers")
NODE = os.path.join(FOLDER, "node_modules", "node", "bin", "node")

# The best of those tried on two cores shared with PostgreSQL and nginx: pg-boss 1 to 4 batches under way of 250, 500 and 1,000; graphile-worker
# 24 to 256 jobs, local queues of 500 to 2,000, 8 to 60 connections; BullMQ 50 to 1,000 jobs. "log" holds what is better with a log.
PEERS = {
    "pg-boss": {"script": "pgboss.mjs", "concurrency": 3, "batch": 500},
    "graphile-worker": {"script": "graphile.mjs", "concurrency": 128, "batch": 1000, "connections": 16, "log": {"concurrency": 64, "batch": 500}},
    "bullmq": {"script": "bullmq.mjs", "concurrency": 100, "batch": 0},
}


def install():
    """Only what is missing, at the versions of package.json; no lock file, because it would hold download addresses."""
    if os.path.exists(NODE) and os.path.exists(os.path.join(FOLDER, "node_modules", "ioredis")):
        return
    machine.say("installing the peers from npm")
    subprocess.run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"], cwd=FOLDER, check=True,
                   stdout=subprocess.DEVNULL)


def versions():
    found = {"node": machine.output_of(NODE, "--version"), "redis": machine.output_of("redis-server", "--version").split("v=")[-1].split()[0]}
    for name in ("pg-boss", "graphile-worker", "bullmq", "undici", "pg", "ioredis"):
        with open(os.path.join(FOLDER, "node_modules", name, "package.json"), encoding="utf-8") as file:
            found[name] = json.load(file)["version"]
    return found


class Redis:
    """Filled quickly, drained with every write synced."""

    def __init__(self, folder):
        self.temporary = tempfile.TemporaryDirectory(prefix="redis-", dir=folder)
        self.socket = f"{self.temporary.name}/redis.sock"
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.temporary.name, "--save", "",
                                         "--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0",
                                         "--maxmemory-policy", "noeviction"], stdout=subprocess.DEVNULL)
        until = time.monotonic() + 10
        while not os.path.exists(self.socket):
            if time.monotonic() > until:
                raise machine.Refused("redis did not start")
            time.sleep(0.01)

    def sync_always(self):
        answer = machine.output_of("redis-cli", "-s", self.socket, "CONFIG", "SET", "appendfsync", "always")
        if answer != "OK" or "always" not in machine.output_of("redis-cli", "-s", self.socket, "CONFIG", "GET", "appendfsync"):
            raise machine.Refused("redis does not sync always: " + answer)

    def close(self):
        machine.end(self.process)
        self.temporary.cleanup()


class Peer:
    """A started peer process and what it tells."""

    def __init__(self, script, orders):
        self.process = subprocess.Popen([NODE, script, json.dumps(orders)], cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "NODE_ENV": "production"})

    def line(self, event):
        for line in self.process.stdout:
            if line.startswith("{"):
                told = json.loads(line)
                if told.get("event") == event:
                    return told
        self.process.wait()
        raise machine.Refused(f"the peer ended with {self.process.returncode}: {self.process.stderr.read()[-400:]}")

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def drain(bench, name, count, log, **overrides):
    """Jobs that wait in the peer's queue: take, POST, log row (or none), outcome durable. Counted from the first POST as for Postrider."""
    settings = dict(PEERS[name])
    script, with_log = settings.pop("script"), settings.pop("log", {})
    settings.update(with_log if log else {}, **overrides)
    redis = Redis(bench.folder) if name == "bullmq" else None
    try:
        with bench.server.database() as database:
            orders = {**settings, "count": count, "log": log, "url": bench.nginx.url, "database": database.url, "body": content.body("{{number}}"),
                      "redis": redis.socket if redis else ""}
            figures = timed(bench, database, Peer(script, orders), count, redis)
            check(bench, database, name, count, log, redis)
            return figures
    finally:
        if redis:
            redis.close()


def timed(bench, database, peer, count, redis):
    try:
        peer.line("filled")
        database.settle()
        if redis:
            redis.sync_always()
        bench.nginx.mark()
        peer.go_on()
        peer.line("first")
        trees = {"peer": peer.process.pid, "postgres": bench.server.pid, **({"redis": redis.process.pid} if redis else {})}
        meter = machine.Meter(**trees)
        counted = count - bench.nginx.requests()  # as for Postrider
        wal = bench.server.wal_position()
        done = peer.line("done")
        # The process is still there (it is not waited for), so its CPU time can be read.
        figures = meter.stop()
        figures.update(count=count, posted=done["posted"], rate=count / figures["seconds"],
                       peer_us=figures["peer_cpu"] * 1e6 / counted, postgres_us=figures["postgres_cpu"] * 1e6 / counted,
                       wal_bytes=(bench.server.wal_position() - wal) / counted)
        figures["redis_us"] = figures.get("redis_cpu", 0) * 1e6 / counted
        figures["cpu_us"] = figures["peer_us"] + figures["postgres_us"] + figures["redis_us"]
        return figures
    finally:
        peer.close()


def check(bench, database, name, count, log, redis):
    """Every job was posted once, is finished, and has its log row when it keeps one."""
    if bench.sabotage:
        bench.sabotage(database.query, {"log": ("delivery_log", "job"), "outcome": ("pgboss.job", "id")})
    served, logged, left = bench.nginx.requests(), database.number("SELECT count(*) FROM delivery_log"), 0
    if name == "pg-boss":
        left = count - database.number("SELECT count(*) FROM pgboss.job WHERE name = 'send' AND state = 'completed'")
    elif name == "graphile-worker":
        left = database.number("SELECT count(*) FROM graphile_worker._private_jobs")
    else:
        left = sum(int(machine.output_of("redis-cli", "-s", redis.socket, "LLEN", f"bull:send:{state}")) for state in ("wait", "active"))
    if served != count or left != 0 or logged != (count if log else 0):
        raise machine.Refused(f"of {count}: {served} POSTs served, {left} jobs not finished, {logged} log rows")
