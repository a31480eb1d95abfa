#!/usr/bin/python3
"""Two nodes on one PostgreSQL. One is killed: the other must have its work going again within ten seconds, which is measured. Or one is
stopped (SIGSTOP) until the other has taken its work over, and goes on then: its writes must be refused by their fence.

  nodes.py [--takeovers N] [--pauses N]"""
import concurrent.futures
import json
import random
import signal
import sys
import time

import world
from world import FAULTS_BINARY, Failed, PostgresStore, World

RESUMED_WITHIN = 10.0
AT_ONCE = 4  # most of the time is spent in waiting
# Where a node is stopped, from which and up to which passing of it; None: wherever it is. The clock is read twice at the start, and then
# every ten seconds. BUSY: wherever it is, and it goes on while the other node is calling for the same deliveries.
BUSY = "any place, the other node busy"
PAUSED_AT = [("after_clock", 3, 4), ("before_call", 1, 60), ("after_connect", 1, 3), ("before_response", 1, 60), ("before_record", 1, 60),
             (None, 0, 0), (BUSY, 0, 0)]


class Pair:
    """A world with two nodes; the first is the one that suffers."""

    def __init__(self, options, seed):
        self.random = random.Random(f"{seed} nodes")
        self.world = World(PostgresStore(), options, seed)

    def __enter__(self):
        try:
            self.world.start_provider("well")
            self.other = self.world.start_engine(1).ready()
            self.world.start_client(nodes=2)
            self.world.wait_for_load()
        except BaseException:
            self.world.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *error):
        self.world.__exit__(*error)

    def node_of(self, engine):
        return self.world.store.numbers(f"SELECT coalesce(max(id), 0) FROM postrider.node WHERE name LIKE '%-{engine.process.pid}'")[0]

    def held_by(self, node):
        return [row[0] for row in world.psql(self.world.store.url, f"SELECT id FROM postrider.queue WHERE node = {node} AND channel <> 0")]

    def wait_for_held(self, node):
        return world.wait_for("the node holds deliveries", lambda: self.held_by(node), 20)

    def finished(self, deliveries):
        ids = ", ".join(deliveries)
        return self.world.store.numbers(f"SELECT (SELECT count(*) FROM postrider.settled WHERE id IN ({ids})) + "
                                        f"(SELECT count(*) FROM postrider.parked WHERE id IN ({ids}))")[0] == len(deliveries)

    def calls_after(self, moment, deliveries):
        """The provider's lines about these deliveries since then."""
        messages = {row[0] for row in world.psql(self.world.store.url, f"SELECT uuid FROM postrider.delivery WHERE id IN ({', '.join(deliveries)})")}
        with open(self.world.provider_ledger, encoding="utf-8") as file:
            calls = [json.loads(line) for line in file]
        return [call for call in calls if call["t"] > moment and call["message"] in messages]


def take_over(options, number):
    """Kills a node in the middle of its calls; gives the seconds until everything that it held was finished by the other."""
    with Pair(options, options.seed * 1000 + number) as pair:
        engine = pair.world.start_engine(0).ready()
        node = pair.node_of(engine)
        time.sleep(pair.random.uniform(0.5, 1.5))
        pair.world.set_provider("hang")
        pair.wait_for_held(node)
        engine.kill()
        begun = time.monotonic()
        held = pair.held_by(node)
        if not held:
            raise Failed("the killed node held nothing")
        pair.world.set_provider("well")
        world.wait_for("the work of the killed node is finished", lambda: pair.finished(held), 30, 0.05)
        resumed = time.monotonic() - begun
        pair.world.settle()
        said = pair.world.check()
    if resumed > RESUMED_WITHIN:
        raise Failed(f"{len(held)} deliveries of a killed node were finished after {resumed:.1f} s; {RESUMED_WITHIN} s are allowed")
    print(f"killed: {len(held)} deliveries finished by the other node after {resumed:.1f} s; {said}", flush=True)
    return resumed


def is_stopped(engine):
    with open(f"/proc/{engine.process.pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


class HeldNothing(Failed):
    """The moment was wrong: there was nothing to take over, so nothing was shown."""


def pause(options, number):
    """On a busy machine the moment is missed now and then; another one is tried."""
    for _ in range(3):
        try:
            return pause_once(options, number)
        except HeldNothing as missed:
            print(f"{missed}; once more", flush=True)
    raise Failed("three times there was nothing to take over")


def pause_once(options, number):
    """Stops a node until it is taken for dead, and lets it go on."""
    with Pair(options, options.seed * 1000 + 500 + number) as pair:
        point, first, last = PAUSED_AT[number % len(PAUSED_AT)]
        fault = {"POSTRIDER_FAULT": f"{point}:{pair.random.randint(first, last)}:stop"} if last else {}
        begun = time.monotonic()
        engine = pair.world.start_engine(0, FAULTS_BINARY, fault).ready()
        node = pair.node_of(engine)
        if point == "after_clock":  # with calls that wait for a connection: those it must not begin afterwards
            time.sleep(max(0, begun + 8.5 - time.monotonic()))  # the clock is asked every ten seconds
            pair.world.set_provider("hang")
        if point in (None, BUSY):
            pair.world.set_provider("hang")  # so that it still holds in a moment what it holds now
            pair.wait_for_held(node)
            engine.process.send_signal(signal.SIGSTOP)
        world.wait_for(f"the node stops at {point}", lambda: is_stopped(engine), 20)
        if point != BUSY:
            pair.world.set_provider("well")
        held = pair.held_by(node)
        if not held:
            raise HeldNothing(f"the node that was stopped at {point} held nothing")
        world.wait_for("the other node takes over", lambda: not pair.held_by(node) and not pair.node_of(engine), 30, 0.1)
        if point == BUSY:
            other = pair.node_of(pair.other)
            world.wait_for("the other node calls", lambda: set(pair.held_by(other)) & set(held), 30)
        else:
            world.wait_for("the other node finishes the work", lambda: pair.finished(held), 30, 0.1)
        went_on = time.time_ns() // 1000
        engine.process.send_signal(signal.SIGCONT)
        world.wait_for("the node notices and starts anew", lambda: "started anew" in engine.text(), 30, 0.1)
        pair.world.settle()
        late = pair.world.store.numbers("SELECT count(*) FROM postrider.attempt WHERE seq = 1")[0]
        said = pair.world.check()
        # The last look at the lease stands right before the first byte: wherever else the node was stopped, it sees that it is too late.
        calls = pair.calls_after(went_on, held)
        if calls and point != BUSY:
            raise Failed(f"a node that was stopped at {point} past its lease began a call: {calls[0]}")
    print(f"stopped at {point or 'any place'}: {len(held)} deliveries taken over, {late} late answers on record; {said}", flush=True)


def run(options):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        taking = [pool.submit(take_over, options, number) for number in range(options.takeovers)]
        pausing = [pool.submit(pause, options, number) for number in range(options.pauses)]
        times = [each.result() for each in taking]
        for each in pausing:
            each.result()
    if times:
        print(f"postgres: {len(times)} nodes killed beside another, their work finished after {max(times):.1f} s at most "
              f"({RESUMED_WITHIN:.0f} s allowed), nothing lost ({world.bound(len(times), 'kill')})")
    if pausing:
        print(f"postgres: {len(pausing)} nodes stopped past their lease, no fence broken ({world.bound(len(pausing), 'pause')})")


def add(parser):
    parser.add_argument("--takeovers", type=int, default=3)
    parser.add_argument("--pauses", type=int, default=7)


if __name__ == "__main__":
    sys.exit(world.main(__doc__, add, run))
