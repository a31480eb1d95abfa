"""What it costs the application: an INSERT into the outbox beside the same into a plain table, batches, and intake over HTTP."""
import json
import os
import statistics
import time

from lib import content, limits, machine, postrider

INSERT = f"INSERT INTO postrider.outbox (type, payload) VALUES ('{content.TYPE}', '{content.payload_text(7)}');\n"
BATCH = 500
INSERT_BATCH = (f"INSERT INTO postrider.outbox (type, payload) SELECT '{content.TYPE}', {content.payload_sql()} "
                f"FROM generate_series(1, {BATCH}) i;\n")


TURN = 500  # INSERTs of one client into the one table before it turns to the other: a tenth of a second


def outbox_insert(bench, clients):
    """Three rates: a plain table and the outbox with no engine, by turns, because the disk's speed moves from second to second; then the outbox
    with an engine that expands and sends, between two slices of the plain table."""
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url) as home:
        database = home.store.database
        database.query(limits.PLAIN)
        os.sync()  # what was measured before leaves nothing to be written meanwhile
        meter = machine.Meter(postgres=bench.server.pid)
        plain, paused = by_turns(database, clients, seconds=4 if bench.quick else 32)
        figures = meter.stop()
        stored = database.number("SELECT count(*) FROM postrider.outbox")
        if stored < figures["seconds"] / 2 * paused * 0.6:  # of the other half, and of the time in which pgbench starts
            raise machine.Refused(f"{stored} rows in the outbox: fewer than pgbench says")
        database.query("TRUNCATE postrider.outbox")
        rate = lambda script, seconds: database.pgbench(script, clients, seconds)  # noqa: E731
        meter = machine.Meter(postgres=bench.server.pid)
        around = [plain if bench.quick else rate(limits.PLAIN_INSERT, 2)]
        engine = home.start().ready()
        time.sleep(0.2)
        running = rate(INSERT, 2 if bench.quick else 8)
        engine.kill()
        around.append(plain if bench.quick else rate(limits.PLAIN_INSERT, 2))
        other = max(figures["other_cpu"], meter.stop()["other_cpu"])
        return {"plain": plain, "rate": paused, "rate_running": running, "vs_plain": paused / plain, "running_vs_plain": running / statistics.mean(around),
                "other_cpu": other, "seconds": figures["seconds"]}


def by_turns(database, clients, seconds):
    """How many INSERTs fit into a second, into the plain table and into the outbox. One client takes turns by itself; several, who share the
    disk's commits, would each be at another place of its turn, so they all go through short slices, forth and back (plain, outbox, outbox, plain)."""
    if clients == 1:
        return database.pgbench_by_turns(limits.PLAIN_INSERT, INSERT, TURN, seconds)
    rates = {limits.PLAIN_INSERT: [], INSERT: []}
    order = [limits.PLAIN_INSERT, INSERT, INSERT, limits.PLAIN_INSERT]
    for number in range(seconds):
        script = order[number % 4]
        rates[script].append(database.pgbench(script, clients, 1))
    return [statistics.mean(found) for found in rates.values()]


def batch_sql(bench):
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url) as home:
        meter = machine.Meter(postgres=bench.server.pid)
        rate = home.store.database.pgbench(INSERT_BATCH, 1, 1 if bench.quick else 8) * BATCH
        return {**meter.stop(), "rate": rate}


def sqlite_sql(bench, batch):
    """One writer, as SQLite has it; every transaction synced. No engine."""
    with postrider.Home(bench, postrider.Sqlite, bench.nginx.url) as home:
        connection, number, text = home.store.connect(), 0, content.payload_text(7)
        meter, until = machine.Meter(), time.monotonic() + (0.5 if bench.quick else 5)
        while time.monotonic() < until:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(f"INSERT INTO postrider_outbox (type, payload) VALUES ('{content.TYPE}', ?)", [(text,)] * batch)
            connection.execute("COMMIT")
            number += batch
        figures = meter.stop()
        connection.close()
        return {**figures, "rate": number / figures["seconds"]}


def intake(bench, kind, connections, batch):
    """POST /api/v1/messages: 2xx comes when the message is on disk. PostgreSQL: a node with the role api alone, so that nothing expands or
    sends; a SQLite engine has all roles, so it expands meanwhile and does not send (its channel has no provider)."""
    seconds = 1 if bench.quick else 8
    with postrider.Home(bench, kind, bench.nginx.url) as home:
        os.sync()
        commit = None
        if kind is postrider.Postgres:
            home.store.database.query(limits.PLAIN)
            commit = home.store.database.pgbench(limits.PLAIN_INSERT, 1, seconds) if batch == 1 else None
        else:
            home.configure(sends=False)
        engine = home.start("api" if kind is postrider.Postgres else None).ready()
        with open(f"{home.path}/admin.key", encoding="ascii") as file:
            key = file.read().strip()
        message = {"type": content.TYPE, "payload": json.loads(content.payload_text(7))}
        body = json.dumps(message if batch == 1 else [message] * batch)
        meter = machine.Meter(engine=engine.pid, **({"postgres": bench.server.pid} if kind is postrider.Postgres else {}))
        found = limits.wrk(bench, f"http://127.0.0.1:{engine.port}/api/v1/messages", connections, seconds, body,
                           {"content-type": "application/json", "authorization": f"Bearer {key}"})
        figures = {**meter.stop(), **found}
        figures["rate"] *= batch
        figures["engine_us"] = figures["engine_cpu"] * 1e6 / (figures["rate"] * seconds)
        if kind is postrider.Postgres:
            stored = home.count("outbox")
            if stored < figures["rate"] * seconds * 0.9:
                raise machine.Refused(f"{stored} rows stored, {figures['rate'] * seconds:.0f} acknowledged")
        if commit:
            figures.update(commit=commit, vs_commit=figures["rate"] / commit)
        engine.kill()
        return figures


def run(bench):
    measure = bench.figures.measure
    for clients in (1, 8):
        measure(f"outbox insert {clients}", lambda: outbox_insert(bench, clients))
    measure("outbox batch 500 pg", lambda: batch_sql(bench))
    measure("intake http 32 pg", lambda: intake(bench, postrider.Postgres, 32, 1))
    measure("intake http batch 500 pg", lambda: intake(bench, postrider.Postgres, 4, BATCH))
    measure("outbox insert 1 sqlite", lambda: sqlite_sql(bench, 1))
    measure("outbox batch 500 sqlite", lambda: sqlite_sql(bench, BATCH))
    measure("intake http 32 sqlite", lambda: intake(bench, postrider.Sqlite, 32, 1))
    measure("intake http batch 500 sqlite", lambda: intake(bench, postrider.Sqlite, 4, BATCH))
