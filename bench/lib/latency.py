"""From the producer's COMMIT to the provider's socket, at a steady rate. Both ends read CLOCK_MONOTONIC of the same machine."""
import os
import subprocess
import sys
import time

from lib import content, machine, mock, postrider

WARM_UP = 1.0


class Arrivals:
    def __init__(self):
        self.port = mock.free_port()
        self.url = f"http://127.0.0.1:{self.port}/in"
        self.process = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "arrivals.py"), str(self.port)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def close(self):
        """number -> seconds of its first arrival, and how many requests came in all."""
        text, _ = self.process.communicate(timeout=60)
        first, lines = {}, text.splitlines()
        for line in lines:
            number, at = line.split()
            first[int(number)] = min(int(at) / 1e9, first.get(int(number), float("inf")))
        return first, len(lines)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def percentiles(values, prefix=""):
    return {f"{prefix}p50_ms": percentile(values, 0.5) * 1e3, f"{prefix}p95_ms": percentile(values, 0.95) * 1e3,
            f"{prefix}p99_ms": percentile(values, 0.99) * 1e3, f"{prefix}max_ms": max(values) * 1e3}


class PostgresProducer:
    def __init__(self, store):
        self.connection = store.database.connect()
        self.connection.autocommit = False
        self.cursor = self.connection.cursor()
        self.cursor.execute(f"PREPARE put (json) AS INSERT INTO postrider.outbox (type, payload) VALUES ('{content.TYPE}', $1)")
        self.connection.commit()

    def insert(self, number):
        self.cursor.execute("EXECUTE put (%s)", (content.payload_text(number),))

    def commit(self):
        self.connection.commit()


class SqliteProducer:
    def __init__(self, store):
        self.connection = store.connect()

    def insert(self, number):
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute(f"INSERT INTO postrider_outbox (type, payload) VALUES ('{content.TYPE}', ?)", (content.payload_text(number),))

    def commit(self):
        self.connection.execute("COMMIT")


def produce(producer, rate, seconds):
    """One transaction per message on a fixed timetable: a late one does not move those behind it. Gives number -> (before, after) COMMIT."""
    times, begun = {}, time.monotonic()
    for number in range(int(rate * seconds)):
        wait = begun + number / rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        producer.insert(number)
        before = time.monotonic()
        producer.commit()
        times[number] = (before, time.monotonic())
    return times


def sample(bench, kind, rate):
    seconds = (1.5 if bench.quick else 15) + WARM_UP
    os.sync()  # what was measured before leaves nothing to be written meanwhile
    arrivals = Arrivals()
    try:
        with postrider.Home(bench, kind, arrivals.url) as home:
            home.start().ready()
            time.sleep(0.3)
            producer = (PostgresProducer if kind is postrider.Postgres else SqliteProducer)(home.store)
            meter = machine.Meter()
            times = produce(producer, rate, seconds)
            figures = meter.stop()
            producer.connection.close()
            home.wait_empty("outbox", "queue", "deferred", seconds=30)
    except BaseException:
        arrivals.process.kill()
        raise
    first, requests = arrivals.close()
    if len(first) != len(times) or requests != len(times):
        raise machine.Refused(f"{len(times)} committed, {len(first)} of them arrived, in {requests} requests")
    counted = [number for number in times if number >= rate * WARM_UP]
    figures.update(percentiles([first[number] - times[number][1] for number in counted]))
    figures.update(percentiles([first[number] - times[number][0] for number in counted], "from_commit_sent_"))
    figures.update(rate=len(times) / figures["seconds"], count=len(counted))
    if figures["rate"] < rate * 0.95 and figures["other_cpu"] < 0.1:
        raise machine.Refused(f"the producer reached only {figures['rate']:.0f}/s of {rate}/s")
    return figures


def run(bench):
    for rate in (200, 500):
        bench.figures.measure(f"latency {rate} pg", lambda: sample(bench, postrider.Postgres, rate))
    for rate in (500,) if bench.quick else (200, 500):
        bench.figures.measure(f"latency {rate} sqlite", lambda: sample(bench, postrider.Sqlite, rate))
