#!/usr/bin/python3
"""Kills the engine with -9 under load, again and again, and then asks three ledgers: what producers were told, what the provider
received, and what the store says. Nothing accepted may be lost; a duplicate may exist only where an unclear attempt is on record."""
import json
import os
import random
import sys
import threading
import time
import uuid

import harness

KILLS = int(os.environ.get("POSTRIDER_KILLS", "50"))


class Producers:
    """Two ways in at once: HTTP, and a plain INSERT in the application's own transaction."""

    def __init__(self, case):
        self.case = case
        self.acknowledged = set()
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.engine = None
        self.threads = [threading.Thread(target=self.by_http), threading.Thread(target=self.by_sql)]
        for thread in self.threads:
            thread.start()

    def note(self, message):
        with self.lock:
            self.acknowledged.add(str(message))

    def by_http(self):
        while not self.stopped.is_set():
            try:
                messages = [{"id": str(uuid.uuid4()), "type": "thing.happened", "payload": {}} for _ in range(20)]
                status, answer = self.engine.request("POST", "/api/v1/messages", messages)
                if status == 202:
                    for each in answer["messages"]:
                        self.note(each["id"])
            except Exception:  # the engine is being killed: what was not acknowledged does not count
                pass
            time.sleep(0.01)

    def by_sql(self):
        connection = None
        while not self.stopped.is_set():
            try:
                connection = connection or self.case.store.connect()
                self.note(self.case.store.insert(connection, type="thing.happened", payload="{}", entity_id=str(uuid.uuid4())))
            except Exception:
                connection = None
            time.sleep(0.005)

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


class Kills(harness.Case):
    def run_kills(self):
        random.seed(20261115)
        first = self.start()
        producers = Producers(self)
        producers.engine = first
        engine = first
        try:
            for _ in range(KILLS):
                time.sleep(random.uniform(0.05, 0.45))
                engine.kill()
                engine = self.start()
                producers.engine = engine
        finally:
            producers.stop()
        self.wait_settled(90)
        self.judge(producers.acknowledged)
        self.assertLess(engine.stop(), 15)

    def judge(self, acknowledged):
        effects = self.provider.effects()
        states = {}
        for message, state in self.store.query(
                "SELECT m.uuid, s.state FROM postrider.message m JOIN postrider.delivery d ON d.message = m.id "
                "JOIN postrider.settled s ON s.id = d.id"):
            states[str(uuid.UUID(bytes=message)) if isinstance(message, bytes) else str(message)] = state
        unclear = {}
        for message, count in self.store.query(
                "SELECT m.uuid, count(*) FROM postrider.message m JOIN postrider.delivery d ON d.message = m.id "
                "JOIN postrider.attempt a ON a.delivery = d.id WHERE a.outcome = 5 OR a.seq = 1 GROUP BY m.uuid"):
            unclear[str(uuid.UUID(bytes=message)) if isinstance(message, bytes) else str(message)] = count
        lost = [m for m in acknowledged if effects.get(m, 0) == 0]
        unexplained = [m for m, n in effects.items() if n > 1 + unclear.get(m, 0)]
        untold = [m for m in acknowledged if m not in states]
        print(f"{self.store.name}: {KILLS} kills, {len(acknowledged)} acknowledged, {len(effects)} took effect, "
              f"{sum(1 for n in effects.values() if n > 1)} more than once, {len(lost)} lost, {len(unexplained)} unexplained "
              f"(0 of {KILLS}: < {300 / KILLS:.1f} % per kill with 95 % confidence)", flush=True)
        self.assertGreater(len(acknowledged), 200)
        self.assertEqual(lost, [])
        self.assertEqual(unexplained, [])
        self.assertEqual(untold, [])


class KillsOnSqlite(Kills):
    store_kind = harness.Sqlite

    def test_nothing_is_lost_on_sqlite(self):
        self.run_kills()


class KillsOnPostgres(Kills):
    store_kind = harness.Postgres

    def test_nothing_is_lost_on_postgres(self):
        self.run_kills()


class TheJudgeItself(Kills):
    """The canary: a judge that cannot fail proves nothing."""

    def test_a_lost_and_a_doubled_message_are_found(self):
        self.start().stop()
        with self.assertRaises(AssertionError):
            self.judge({str(uuid.uuid4()) for _ in range(300)})
        known = str(uuid.uuid4())
        self.provider.calls += [{"body": json.dumps({"id": known}).encode()}] * 2
        with self.assertRaises(AssertionError):
            self.judge(set())


if __name__ == "__main__":
    sys.exit(harness.main())
