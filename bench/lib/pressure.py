"""Awkward company: a transaction held open elsewhere, one huge tenant, a million bulk messages, several nodes. Full runs only.

Here the provider must be fast and the queue long, so times are those in the audit rows: from the producer's COMMIT (returned) to
`attempt.started_at`, which is when the call began. Both are the machine's wall clock."""
import re
import statistics
import threading
import time

from lib import content, latency, machine, postrider

HELD_SECONDS = 120
LOOK_SECONDS = 30
FEED_PER_SECOND = 1000
CLAIM = re.compile(r"duration: ([0-9.]+) ms  execute \S*claim\S*:")


class Feed:
    """Commits a steady stream of messages from a thread of its own."""

    def __init__(self, store):
        self.store, self.ended, self.number = store, threading.Event(), 0
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        connection = self.store.database.connect()
        cursor, next_at = connection.cursor(), time.monotonic()
        while not self.ended.is_set():
            cursor.execute(f"INSERT INTO postrider.outbox (type, payload) SELECT '{content.TYPE}', {content.payload_sql()} FROM generate_series(1, 20) i")
            self.number += 20
            next_at += 20 / FEED_PER_SECOND
            time.sleep(max(0, next_at - time.monotonic()))
        connection.close()

    def end(self):
        self.ended.set()
        self.thread.join()


def claim_p99(log, seconds):
    """The server's own durations of the claim statement over the next seconds."""
    log.seek(0, 2)
    time.sleep(seconds)
    found = [float(match.group(1)) for match in map(CLAIM.search, log.read().splitlines()) if match]
    if len(found) < 100:
        raise machine.Refused(f"only {len(found)} claims in {seconds} s")
    return latency.percentile(found, 0.5), latency.percentile(found, 0.99), len(found)


def held_transaction(bench):
    """Expanding and sending are nodes of their own: then every delivery is claimed by the statement that is looked at."""
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url) as home:
        database = home.store.database
        bench.server.admin(f"ALTER DATABASE {database.name} SET log_min_duration_statement = 0")
        home.start("expand,maintain").ready()
        home.start("send").ready()
        feed = Feed(home.store)
        meter = machine.Meter(postgres=bench.server.pid)
        try:
            with open(f"{bench.server.folder}/tuned.log", encoding="utf-8", errors="replace") as log:
                time.sleep(3)
                normal_p50, normal, _ = claim_p99(log, LOOK_SECONDS)
                held = database.connect()
                held.autocommit = False
                held.cursor().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(), count(*) FROM postrider.queue")
                time.sleep(HELD_SECONDS - LOOK_SECONDS)
                held_p50, held_p99, claims = claim_p99(log, LOOK_SECONDS)
                held.rollback()
                held.close()
        finally:
            feed.end()
        return {**meter.stop(), "normal_p50_ms": normal_p50, "normal_p99_ms": normal, "p50_ms": held_p50, "p99_ms": held_p99,
                "ratio": held_p99 / normal, "claims": claims, "held_s": HELD_SECONDS, "rate": FEED_PER_SECOND}


def started(home, where):
    return home.store.query("SELECT m.correlation_id, m.tenant_name, min(a.started_at) / 1e6 FROM postrider.message m "
                            "JOIN postrider.delivery d ON d.message = m.id JOIN postrider.attempt a ON a.delivery = d.id "
                            f"WHERE {where} GROUP BY m.id, m.correlation_id, m.tenant_name")


def wait_started(home, where, count, seconds=120):
    until = time.monotonic() + seconds
    while len(found := started(home, where)) < count:
        if time.monotonic() > until:
            raise machine.Refused(f"{len(found)} of {count} were called within {seconds} s")
        time.sleep(1)
    return found


def small_tenants(bench):
    names = [f"small-{number}" for number in range(1, 100)]
    tenants = "".join(f'[[tenants]]\nname = "{name}"\n' for name in ["large", *names])
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url, tenants) as home:
        home.queue_up(200_000, ", tenant", ", 'large'")
        home.store.settle()
        bench.nginx.mark()
        engine = home.start().ready()
        bench.nginx.wait_for(1000, 60, alive=engine.alive)
        meter, committed = machine.Meter(), {}
        for name in names:
            home.store.fill(1, 20, ", tenant", f", '{name}'")
            committed[name] = float(time.time())
        found = wait_started(home, "m.tenant_name LIKE 'small-%'", 20 * len(names))
        figures = meter.stop()
        waiting = home.count("queue")
        engine.kill()
        return {**figures, **latency.percentiles([float(at) - committed[name] for _, name, at in found]), "count": len(found), "still_waiting": waiting}


def priority(bench):
    waiting, rate, seconds = 1_000_000, 50, 10
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url) as home:
        home.queue_up(waiting, ", lane", ", 'bulk'")
        home.store.settle()
        bench.nginx.mark()
        engine = home.start().ready()
        bench.nginx.wait_for(1000, 60, alive=engine.alive)
        meter, committed, begun = machine.Meter(), {}, time.monotonic()
        for number in range(rate * seconds):
            time.sleep(max(0, begun + number / rate - time.monotonic()))
            home.store.fill(number, 1, ", lane, correlation_id", f", 'priority', 'p{number}'")
            committed[f"p{number}"] = float(time.time())
        figures = meter.stop()
        left = home.count("queue")
        if left == 0:
            raise machine.Refused("the bulk messages were gone before the last priority one came")
        found = wait_started(home, "m.correlation_id LIKE 'p%'", len(committed))
        engine.kill()
        return {**figures, **latency.percentiles([float(at) - committed[name] for name, _, at in found]), "count": len(found), "bulk_left": left}


def steady_rate(bench, number, url, count):
    """Deliveries a second of so many nodes, each a process with the roles send and maintain, between 30 and 90 % of a drain: before, the
    second and the third are still starting; behind, there is no work for all of them any more."""
    with postrider.Home(bench, postrider.Postgres, url) as home:
        before = home.finished()
        home.queue_up(count)
        home.store.settle()
        bench.nginx.mark()
        engines = [home.start("send,maintain") for _ in range(number)]
        bench.nginx.wait_for(count * 3 // 10, postrider.PATIENCE, alive=engines[0].alive)
        meter, first = machine.Meter(), bench.nginx.requests()
        bench.nginx.wait_for(count * 9 // 10, postrider.PATIENCE, every=0.005, alive=engines[0].alive)
        last, figures = bench.nginx.requests(), meter.stop()
        bench.nginx.wait_for(count, postrider.PATIENCE, alive=engines[0].alive)
        home.wait_empty("queue", "deferred")
        if not all(engine.alive() for engine in engines):
            raise machine.Refused("a node ended before the drain did")
        for engine in engines:
            engine.stop()
        home.check(count, before)
        return (last - first) / figures["seconds"], figures["other_cpu"]


def nodes(bench, url, count):
    """One, two and three nodes, forth and back, so that the machine's moods meet all of them. `count`: notifications for so many nodes."""
    found, other = {1: [], 2: [], 3: []}, 0
    for number in (1, 2, 3, 3, 2, 1):
        rate, others = steady_rate(bench, number, url, count(number))
        found[number].append(rate)
        other = max(other, others)
    rates = {number: statistics.mean(seen) for number, seen in found.items()}
    return {"rate": rates[1], "rate_2": rates[2], "rate_3": rates[3], "ratio_2": rates[2] / rates[1], "ratio_3": rates[3] / rates[1], "other_cpu": other}


def run(bench):
    bench.figures.measure("nodes", lambda: nodes(bench, bench.nginx.url, lambda number: bench.count))
    bench.figures.measure("nodes, slow provider", lambda: nodes(bench, bench.nginx.slow_url, lambda number: bench.count // 10 * number), repeats=1)
    bench.figures.measure("small tenants", lambda: small_tenants(bench))
    bench.figures.measure("priority", lambda: priority(bench), repeats=1)
    bench.figures.measure("held transaction", lambda: held_transaction(bench), repeats=1)
