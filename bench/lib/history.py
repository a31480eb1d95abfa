"""Does a long past slow the present down? Millions of finished rows are put straight into the history tables, then the same drain."""
import concurrent.futures
import statistics

from lib import machine, postrider

ROWS, ROWS_QUICK = 5_000_000, 200_000
STEP_MS = 300  # between two notifications of the past: five million are then about seventeen days

# What identifies a row; everything else is copied from one notification that the engine finished itself.
IDENTITY = {
    "message": {"id": "{past}", "uuid": "gen_random_uuid()"},
    "delivery": {"id": "{past} + 1", "message": "{past}", "uuid": "gen_random_uuid()", "key": "'past-' || i"},
    "settled": {"id": "{past} + 1"},
    "attempt": {"delivery": "{past} + 1"},
    "dedup": {"id": "{past}", "hash": "gen_random_uuid()"},
}


def plant(bench, home, rows):
    """One real notification, multiplied: id by id further back in time. Gives back how many it made."""
    home.store.fill(1, 1)
    engine = home.start()
    bench.nginx.wait_for(1, 30, alive=engine.alive)
    home.wait_empty("outbox", "queue", "deferred")
    engine.stop()
    database = home.store.database
    newest = database.number("SELECT min(id) FROM postrider.message")
    past = f"(({newest} >> 21) - ({rows} - i + 1)::bigint * {STEP_MS} << 21)"
    with concurrent.futures.ThreadPoolExecutor(machine.CORES) as workers:
        list(workers.map(lambda table: multiply(database, table, past, rows), IDENTITY))
    machine.say(f"{rows:,} finished notifications are in the history")
    return rows


def multiply(database, table, past, rows):
    connection = database.connect()
    cursor, identity = connection.cursor(), IDENTITY[table]
    cursor.execute(f"SELECT column_name FROM information_schema.columns WHERE table_schema = 'postrider' AND table_name = '{table}' ORDER BY ordinal_position")
    names = [row[0] for row in cursor.fetchall()]
    values = ", ".join(identity[name].format(past=past) if name in identity else f"t.{name}" for name in names)
    cursor.execute(f"INSERT INTO postrider.{table} ({', '.join(names)}) SELECT {values} FROM (SELECT * FROM postrider.{table}) t, generate_series(1, {rows}) i")
    connection.close()


def sample(bench, home):
    """Back to back, forth and back, so that the machine's mood is the same for both."""
    drains = {"without": [], "with": []}
    for kind in ("without", "with", "with", "without"):
        drained = postrider.drain(bench, postrider.Postgres, bench.count) if kind == "without" else postrider.drain_in(bench, home, bench.count)
        drains[kind].append(drained)
    without, rate = (statistics.mean(drain["rate"] for drain in found) for found in drains.values())
    return {**drains["with"][0], "rate": rate, "rate_without": without, "ratio": rate / without,
            "other_cpu": max(drain["other_cpu"] for found in drains.values() for drain in found)}


def run(bench):
    rows = ROWS_QUICK if bench.quick else ROWS
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url) as home:
        bench.nginx.mark()
        try:
            bench.facts["drain_history_rows"] = plant(bench, home, rows)
        except machine.Refused as error:
            bench.figures.refused["drain postrider pg, history"] = str(error)
            return
        bench.figures.measure("drain postrider pg, history", lambda: sample(bench, home))
