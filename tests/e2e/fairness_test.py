#!/usr/bin/python3
"""Lanes and tenants under load: who comes first at the provider when far more waits than it can take.

The provider takes its time for each call, so that the order in which messages arrive is the engine's choice. What arrived is judged by
position; times are looked at only against the target of the priority lane. The judges themselves are shown unfair orders first.
"""
import asyncio
import json
import re
import sys
import threading
import time
import unittest
from dataclasses import dataclass

import harness
from harness import wait_for

WAITING = 20_000  # of the noisy tenant, or of the bulk lane
SMALL_TENANTS = 20
EACH = 10
CONNECTIONS = 32
CALL_SECONDS = 0.02  # with the connections: at most 1,600 calls a second, so that 20,000 wait for more than 12 s
PRIORITY_PER_SECOND = 20
PRIORITY_SECONDS = 3
PRIORITY_TARGET = 5.0  # seconds, of the lane
# What may still go before a message that has the right of way. In the queue: the provider's window of 1,024 rows that are held already,
# and a claim of 500 that is under way; twice that, because machines are noisy. In order of coming it would be up to 20,000.
BEFORE_MAX = 3_000
# Rows leave the outbox in the order of their positions, whoever's they are, so what is sent while the rows ahead become deliveries goes
# before too: that depends on how much faster than the provider the engine is. Most must still wait.
BEFORE_IN_OUTBOX_MAX = WAITING // 2
FLOOD = 2_000  # arrivals that are looked at while nothing but priority and bulk wait


@dataclass(frozen=True)
class Arrival:
    who: str  # a tenant, or a lane
    number: int
    at: float


@dataclass(frozen=True)
class Commit:
    at: float
    position: int  # how many had arrived by then


# --- judges: what is unfair about an order of arrivals, as sentences; nothing when it is fair


def judge_tenants(arrivals, commit, before_max=BEFORE_MAX):
    """Small tenants committed a few messages each behind the 20,000 of the noisy one."""
    small = [position for position, arrival in enumerate(arrivals) if arrival.who != "noisy"]
    if len(small) < SMALL_TENANTS * EACH:
        return [f"only {len(small)} of {SMALL_TENANTS * EACH} messages of the small tenants arrived among {len(arrivals)}"]
    done = sum(arrival.who == "noisy" for arrival in arrivals[:small[-1]])
    since = sum(arrival.who == "noisy" for arrival in arrivals[commit.position:small[-1]])
    found = []
    if done > WAITING / 2:
        found.append(f"{done} of the noisy tenant's {WAITING} were done when the last small one arrived")
    if since > before_max:
        found.append(f"{since} of the noisy tenant went before the last small one")
    return found


def judge_priority(arrivals, commits):
    """Priority messages were committed one by one while 20,000 of the bulk lane waited."""
    found = []
    places = {arrival.number: position for position, arrival in enumerate(arrivals) if arrival.who == "priority"}
    if set(places) != set(commits):
        return [f"only {len(places)} of {len(commits)} priority messages arrived among {len(arrivals)}"]
    for number, commit in commits.items():
        between = sum(arrival.who == "bulk" for arrival in arrivals[commit.position:places[number]])
        seconds = arrivals[places[number]].at - commit.at
        if between > BEFORE_MAX:
            found.append(f"{between} of the bulk lane went before priority message {number}")
        if seconds > PRIORITY_TARGET:
            found.append(f"priority message {number} took {seconds:.1f} s from its commit to the provider")
    last = max(places.values())
    done = sum(arrival.who == "bulk" for arrival in arrivals[:last])
    if done > WAITING * 0.9:
        found.append(f"only {WAITING - done} of the bulk lane still waited at the end: this shows nothing about lanes")
    begun = min(commit.at for commit in commits.values())
    for second in range(int(arrivals[last].at - begun)):
        if not any(arrival.who == "bulk" and second <= arrival.at - begun < second + 1 for arrival in arrivals):
            found.append(f"nothing of the bulk lane arrived in second {second} of the priority messages")
    return found


def judge_flood(arrivals):
    """Priority and bulk both have more waiting than the provider can take. A claim of a full window has at least one place for bulk, and
    such a claim is made when a quarter of it, 256 places, is free."""
    found = []
    bulk = [position for position, arrival in enumerate(arrivals) if arrival.who == "bulk"]
    if len(bulk) < len(arrivals) / 400:
        found.append(f"the bulk lane got {len(bulk)} of {len(arrivals)} places: it starves")
    if len(bulk) > len(arrivals) / 2:
        found.append(f"the bulk lane got {len(bulk)} of {len(arrivals)} places: priority does not go first")
    gap = max(after - before for before, after in zip([-1, *bulk], [*bulk, len(arrivals)]))
    if gap > len(arrivals) / 2:
        found.append(f"{gap} arrivals in a row without one of the bulk lane")
    return found


# --- the load


class SlowProvider:
    """Takes CALL_SECONDS for each call and writes down when it came; while it is held it answers none. HTTP/1.1 as far as the engine
    speaks it."""

    def __init__(self):
        self.held = []  # connections that wait for their answer; None: every call is answered in its time
        self.arrivals = []  # in the order of coming
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(self.loop.create_server(lambda: Connection(self), "127.0.0.1", 0, backlog=256))
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/in"
        self.connections = set()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def release(self):
        self.loop.call_soon_threadsafe(self.answer_held)

    def answer_held(self):
        held, self.held = self.held, None
        for connection in held or []:
            connection.answer()

    def count(self, who):
        return sum(arrival.who.startswith(who) for arrival in list(self.arrivals))

    def close(self):
        self.loop.call_soon_threadsafe(self.end)
        self.thread.join()
        self.loop.close()

    def end(self):
        self.server.close()
        for connection in list(self.connections):
            connection.abort()
        self.loop.call_later(0.05, self.loop.stop)  # the aborted ones are closed in the next turns


class Connection(asyncio.Protocol):
    def __init__(self, provider):
        self.provider = provider
        self.bytes = b""

    def connection_made(self, transport):
        self.transport = transport
        self.provider.connections.add(transport)

    def connection_lost(self, _):
        self.provider.connections.discard(self.transport)

    def data_received(self, data):
        self.bytes += data
        head, found, rest = self.bytes.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head).group(1))
        if len(rest) < length:
            return
        tag = json.loads(rest[:length])["data"]
        self.bytes = rest[length:]
        self.provider.arrivals.append(Arrival(tag["who"], tag["number"], time.monotonic()))
        if self.provider.held is not None:
            self.provider.held.append(self)
        else:
            self.provider.loop.call_later(CALL_SECONDS, self.answer)

    def answer(self):
        self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


class Fairness:
    """What holds on every store."""

    policy = 'kind = "fixed"\ninterval = "1s"\nmax_attempts = 2\ntimeout = "60s"'

    def setUp(self):
        super().setUp()
        self.slow = SlowProvider()
        self.addCleanup(self.slow.close)
        names = ["default", "noisy", *(f"small-{number}" for number in range(SMALL_TENANTS))]
        self.configure(extra="".join(f'[[tenants]]\nname = "{name}"\n' for name in names),
                       provider=f'type = "webhook"\nurl = "{self.slow.url}"\nallow_internal = true\nconnections = {CONNECTIONS}')

    def commit(self, rows):
        """Inserts (who, number, tenant, lane) in one transaction of the application's own."""
        values = [("thing.happened", json.dumps({"who": who, "number": number}), tenant, lane) for who, number, tenant, lane in rows]
        cursor = self.connection.cursor()
        if self.store.name == "sqlite":
            cursor.execute("BEGIN IMMEDIATE")
            cursor.executemany("INSERT INTO postrider_outbox (type, payload, tenant, lane) VALUES (?, ?, ?, ?)", values)
            cursor.execute("COMMIT")
        else:
            from psycopg2.extras import execute_values
            execute_values(cursor, "INSERT INTO postrider.outbox (type, payload, tenant, lane) VALUES %s", values, page_size=1000)
            self.connection.commit()
        return Commit(time.monotonic(), len(self.slow.arrivals))

    def begin(self):
        engine = self.start()
        self.connection = self.store.connect()
        self.addCleanup(self.connection.close)
        return engine

    def commit_noisy(self):
        self.commit([("noisy", number, "noisy", "standard") for number in range(WAITING)])

    def commit_small(self, one_tenant_for_all=None):
        return self.commit([(f"small-{tenant}", number, one_tenant_for_all or f"small-{tenant}", "standard")
                            for number in range(EACH) for tenant in range(SMALL_TENANTS)])

    def commit_bulk(self):
        self.commit([("bulk", number, "default", "bulk") for number in range(WAITING)])

    def wait_queued(self):
        """All rows have left the outbox while the provider was held; now it takes calls."""
        wait_for("everything is in the queue", lambda: self.store.query("SELECT count(*) FROM postrider.outbox")[0][0] == 0, 60)
        self.slow.release()

    def wait_small(self):
        wait_for("the small tenants' messages", lambda: self.slow.count("small") == SMALL_TENANTS * EACH, 60)

    def send_priority(self, lane="priority", seconds=PRIORITY_SECONDS):
        commits, begun = {}, time.monotonic()
        for number in range(PRIORITY_PER_SECOND * seconds):
            time.sleep(max(0.0, begun + number / PRIORITY_PER_SECOND - time.monotonic()))
            commits[number] = self.commit([("priority", number, "default", lane)])
        return commits

    def test_small_tenants_go_before_what_a_noisy_one_has_queued(self):
        self.begin()
        self.commit_noisy()
        self.wait_queued()
        commit = self.commit_small()
        self.wait_small()
        self.assertEqual(judge_tenants(list(self.slow.arrivals), commit), [])

    def test_small_tenants_go_before_a_noisy_one_whose_rows_are_all_ahead_of_theirs_in_the_outbox(self):
        self.begin().stop()
        self.commit_noisy()
        commit = self.commit_small()
        self.slow.release()
        self.start()
        self.wait_small()
        self.assertEqual(judge_tenants(list(self.slow.arrivals), commit, BEFORE_IN_OUTBOX_MAX), [])

    def test_priority_overtakes_queued_bulk_and_bulk_goes_on(self):
        self.begin()
        self.commit_bulk()
        self.wait_queued()
        commits = self.send_priority()
        wait_for("the priority messages", lambda: self.slow.count("priority") == len(commits), 60)
        self.assertEqual(judge_priority(list(self.slow.arrivals), commits), [])

    def test_a_priority_message_overtakes_what_is_still_in_the_outbox(self):
        self.begin().stop()
        self.commit_bulk()
        self.commit([("priority", 0, "default", "priority")])
        self.start()
        self.wait_queued()
        ahead = self.store.query("SELECT count(*) FROM postrider.message WHERE id < (SELECT message FROM postrider.delivery WHERE lane = 1)")
        self.assertLess(ahead[0][0], BEFORE_MAX)

    def test_bulk_goes_on_while_priority_never_lets_up(self):
        self.begin().stop()
        self.commit([("priority", number, "default", "priority") for number in range(3 * FLOOD)])
        self.commit([("bulk", number, "default", "bulk") for number in range(FLOOD)])
        self.start()
        self.wait_queued()
        begun = len(self.slow.arrivals)
        wait_for("enough arrivals", lambda: len(self.slow.arrivals) >= begun + FLOOD, 60)
        self.assertEqual(judge_flood(list(self.slow.arrivals)[begun:begun + FLOOD]), [])


class OnSqlite(Fairness, harness.Case):
    store_kind = harness.Sqlite

    def test_the_same_messages_without_tenants_of_their_own_are_called_unfair(self):
        self.begin()
        self.commit_noisy()
        self.wait_queued()
        commit = self.commit_small(one_tenant_for_all="noisy")
        wait_for("enough arrivals", lambda: len(self.slow.arrivals) > commit.position + BEFORE_MAX, 60)
        self.assertEqual(len(judge_tenants(list(self.slow.arrivals), commit)), 1)

    def test_the_same_messages_without_a_lane_of_their_own_are_called_unfair(self):
        self.begin()
        self.commit_bulk()
        self.slow.release()
        commits = self.send_priority(lane="bulk", seconds=1)
        self.assertEqual(len(judge_priority(list(self.slow.arrivals), commits)), 1)


class OnPostgres(Fairness, harness.Case):
    store_kind = harness.Postgres


class Judges(unittest.TestCase):
    """Planted orders: the judges must call the unfair ones unfair, and the fair ones fair."""

    def order(self, *parts):
        """One arrival per millisecond from (who, count) parts; the numbers of each go up."""
        counts, arrivals = {}, []
        for who, count in parts:
            for _ in range(count):
                counts[who] = counts.get(who, -1) + 1
                arrivals.append(Arrival(who, counts[who], len(arrivals) / 1000))
        return arrivals

    def found(self, findings, *words):
        self.assertEqual(len(findings), len(words), findings)
        for finding, word in zip(findings, words):
            self.assertIn(word, finding)

    def test_tenants(self):
        small = ("small-1", SMALL_TENANTS * EACH)
        commit = Commit(1.0, 1000)
        self.found(judge_tenants(self.order(("noisy", 2000), small, ("noisy", 18_000)), commit))
        self.found(judge_tenants(self.order(("noisy", WAITING), small), commit), "were done when", "went before")
        self.found(judge_tenants(self.order(("noisy", 4500), small, ("noisy", 15_500)), commit), "3500 of the noisy tenant went before")
        one_late = self.order(("noisy", 2000), ("small-1", SMALL_TENANTS * EACH - 1), ("noisy", 9000), ("small-2", 1), ("noisy", 9000))
        self.found(judge_tenants(one_late, commit), "were done when", "went before")
        self.found(judge_tenants(self.order(("noisy", WAITING), ("small-1", 199)), commit), "only 199 of 200")

    def test_priority(self):
        def commits(arrivals, seconds=0.1):
            """Each priority message was committed so long before it arrived."""
            return {arrival.number: Commit(arrival.at - seconds, max(0, position - int(seconds * 1000)))
                    for position, arrival in enumerate(arrivals) if arrival.who == "priority"}

        fair = self.order(*[("bulk", 100), ("priority", 1)] * 80, ("bulk", 12_000))
        self.found(judge_priority(fair, commits(fair)))
        self.found(judge_priority(fair, {**commits(fair), 80: Commit(0, 0)}), "only 80 of 81")
        last = self.order(("bulk", WAITING), ("priority", 2))
        self.found(judge_priority(last, {0: Commit(17.0, 17_500), 1: Commit(17.0, 15_000)}), "5000 of the bulk lane went before", "only 0")
        slow = self.order(("bulk", 100), ("priority", 1), ("bulk", 6000), ("priority", 1), ("bulk", 13_900))
        self.found(judge_priority(slow, {0: Commit(0.0, 0), 1: Commit(0.2, 5000)}), "message 1 took 5.9 s")
        starved = [Arrival("bulk", 0, 0.1), Arrival("priority", 0, 0.2), Arrival("priority", 1, 2.2), Arrival("bulk", 1, 2.3)]
        self.found(judge_priority(starved, {0: Commit(0.0, 0), 1: Commit(2.0, 2)}), "in second 1 ")

    def test_flood(self):
        self.found(judge_flood(self.order(*[("priority", 12), ("bulk", 1)] * 300)))
        self.found(judge_flood(self.order(("priority", 4000))), "it starves", "4001 arrivals in a row")
        self.found(judge_flood(self.order(("priority", 3700), ("bulk", 300))), "3701 arrivals in a row")
        self.found(judge_flood(self.order(*[("priority", 996), ("bulk", 1)] * 4)), "it starves")
        self.found(judge_flood(self.order(*[("priority", 1), ("bulk", 2)] * 1000)), "does not go first")


if __name__ == "__main__":
    sys.exit(harness.main())
