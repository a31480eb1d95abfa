"""Content: what 20 placeholders cost a delivery, one event for ten thousand recipients, and events that each have a record in the application's
own tables."""
import json
import statistics
import time

from lib import latency, machine, postrider, pressure

KEYS = [f"field_{number}" for number in range(20)]
LINE = "line {number} of the letter says {what} to you. "
VALUE = "value {number}"
RECIPIENTS = 10_000
PRIORITY_PER_SECOND = 50

ROUTES = """
[[routes]]
type = "letter.filled"
[[templates]]
key = "filled"
type = "letter.filled"
channel = "webhook"
body = "{filled}"
[[routes]]
type = "letter.plain"
[[templates]]
key = "plain"
type = "letter.plain"
channel = "webhook"
body = "{plain}"
[[routes]]
type = "letter.all"
recipients = {{ webhook = "urls[]" }}
[[templates]]
key = "all"
type = "letter.all"
channel = "webhook"
body = "Dear all of {{{{name}}}}"
"""


def letters():
    filled = "".join(LINE.format(number=number, what="{{" + key + "}}") for number, key in enumerate(KEYS))
    plain = "".join(LINE.format(number=number, what=VALUE.format(number=number)) for number in range(len(KEYS)))
    return ROUTES.format(filled=filled, plain=plain)


def expand(bench, home, kind, count):
    """CPU of the engine for one delivery: from the outbox into the queue."""
    data = json.dumps({key: VALUE.format(number=number) for number, key in enumerate(KEYS)})
    home.store.database.query(f"INSERT INTO postrider.outbox (type, payload) SELECT 'letter.{kind}', '{data}'::json FROM generate_series(1, {count})")
    home.store.settle()
    engine = home.start("expand")
    meter = machine.Meter(engine=engine.pid)
    home.wait_empty("outbox", every=0.02)
    figures = meter.stop()
    engine.stop()
    return figures["engine_cpu"] * 1e6 / count, figures["other_cpu"]


def placeholders(bench):
    """Both letters have the same length once they are written, and both events the same payload; in turn, forth and back, so that the machine's moods
    meet both."""
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url, letters()) as home:
        cost, other, count, pairs = {"plain": [], "filled": []}, 0, bench.count // 4, 6
        for pair in range(pairs):
            for kind in sorted(cost, reverse=pair % 2 == 0):
                engine_us, others = expand(bench, home, kind, count)
                cost[kind].append(engine_us)
                other = max(other, others)
        made = home.count("delivery")
        if made != 2 * pairs * count:
            raise machine.Refused(f"{made} deliveries of {2 * pairs * count}")
        plain, filled = (statistics.median(found) for found in cost.values())
        added = statistics.median(filled - plain for plain, filled in zip(*cost.values()))
        return {"plain_us": plain, "filled_us": filled, "added_us": added, "count": count, "other_cpu": other}


def many(bench):
    """One event for ten thousand addresses, while a steady stream of priority messages goes out."""
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url, letters()) as home:
        urls = json.dumps([f"{bench.nginx.url}?to={number}" for number in range(RECIPIENTS)])
        engine = home.start().ready()
        home.store.fill(0, 200)
        home.wait_empty("outbox", "queue")
        meter, committed, made_after = machine.Meter(engine=engine.pid), {}, None
        begun = time.monotonic()
        home.store.database.query(f"INSERT INTO postrider.outbox (type, lane, payload) VALUES ('letter.all', 'bulk', '{{\"name\": \"x\", \"urls\": {urls}}}'::json)")
        sent = time.monotonic()
        number = 0
        while made_after is None or time.monotonic() - sent < 3:
            home.store.fill(number, 1, ", lane, correlation_id", f", 'priority', 'p{number}'")
            committed[f"p{number}"] = time.time()
            number += 1
            if made_after is None:
                made = home.store.query("SELECT count(*) FROM postrider.delivery WHERE type = 'letter.all'")[0][0]
                if made == RECIPIENTS:
                    made_after = time.monotonic() - begun
                elif time.monotonic() - begun > 60:
                    raise machine.Refused(f"{made} of {RECIPIENTS} deliveries after 60 s")
            time.sleep(1 / PRIORITY_PER_SECOND)
        figures = meter.stop()
        home.wait_empty("outbox", "queue", "deferred", every=0.05)
        found = pressure.wait_started(home, "m.correlation_id LIKE 'p%'", len(committed))
        engine.stop()
        return {**figures, **latency.percentiles([float(at) - committed[name] for name, _, at in found]), "made_s": made_after,
                "rate": RECIPIENTS / made_after, "count": RECIPIENTS}


RECORDS = """
[databases.application]
url = "{url}"
[[routes]]
type = "letter.booked"
[routes.context]
query = "SELECT id AS entity_id, guest, nights FROM public.booking WHERE id = ANY(:entity_ids)"
[[templates]]
key = "booked"
type = "letter.booked"
channel = "webhook"
body = "Dear {{{{guest}}}}, {{{{nights}}}} nights"
"""


def records(bench):
    """The whole way of events whose route asks the application's database, here the same server, for the booking that each is about."""
    count = bench.count // 4
    with postrider.Home(bench, postrider.Postgres, bench.nginx.url) as home:
        home.extra = RECORDS.format(url=home.store.url)
        home.configure()
        home.store.database.query("CREATE TABLE public.booking (id bigint PRIMARY KEY, guest text, nights int)")
        home.store.database.query(f"INSERT INTO public.booking SELECT i, 'Guest ' || i, i % 9 FROM generate_series(1, {count}) i")
        home.store.database.query(f"INSERT INTO postrider.outbox (type, entity_id, payload) SELECT 'letter.booked', i::text, '{{}}'::json FROM generate_series(1, {count}) i")
        home.store.settle()
        bench.nginx.mark()
        engine = home.start()
        meter = postrider.Meter(bench, home, engine)
        bench.nginx.wait_for(count, postrider.PATIENCE, alive=engine.alive)
        home.wait_empty("outbox", "queue", "deferred")
        figures = meter.stop(count)
        engine.stop()
        home.check(count, (0, 0))
        return figures


def run(bench):
    bench.figures.measure("whole way with records pg", lambda: records(bench))
    bench.figures.measure("20 placeholders", lambda: placeholders(bench), repeats=1)
    bench.figures.measure("10,000 recipients", lambda: many(bench))
