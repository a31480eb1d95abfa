#!/usr/bin/python3
"""kill -9 under load, at every named fault point and at random, many times on one database; then it heals, comes to rest and is judged.

  kills.py --store sqlite|postgres [--kills N] [--only-group G]

On PostgreSQL a second node lives on beside the one that is killed, and takes its work over."""
import collections
import os
import random
import re
import sys
import time

import world
from world import FAULTS_BINARY, Failed, PostgresStore, World

# point -> up to which passing of it the kill comes
COMMON = {"before_accept": 6, "in_accept": 6, "after_accept": 6, "in_expand": 6, "after_expand": 6, "before_claim": 4, "after_claim": 4,
          "before_call": 8, "before_connect": 4, "after_connect": 4, "after_first_byte": 15, "before_response": 15, "after_response": 15,
          "before_record": 8, "after_record": 8, "after_promote": 3, "after_clock": 2}
ONLY = {"sqlite": {"in_claim": 4, "in_record": 8, "in_promote": 3, "in_take_over": 1, "after_take_over": 1},
        "postgres": {"sent_outbox_add_many": 4, "sent_claim": 4, "sent_deliveries_by_id": 4, "sent_record_settled": 8,
                     "sent_record_settled_by_key": 8, "sent_record_by_key": 4, "sent_promote": 3}}
AT_RANDOM = "at random"
REACHED_WITHIN = 20.0
RESUMED_WITHIN = 10.0
# How often a round has a point that only this store has, and how many rounds one database sees. A kill is much quicker on SQLite, so
# that is where most of the common ones happen.
OWN_PER_DECK = {"sqlite": 2, "postgres": 4}
DECKS_PER_GROUP = {"sqlite": 4, "postgres": 3}


def deck_of(store):
    """One round: each common point once, each other point some times, the random kill twice."""
    return [*COMMON, *list(ONLY[store]) * OWN_PER_DECK[store], AT_RANDOM, AT_RANDOM]


def points_in_the_source():
    """Every name that is compiled in: one that nobody kills at would be a point that proves nothing."""
    found = set()
    for folder, _, files in os.walk(os.path.join(world.ROOT, "src")):
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.update(re.findall(r'POSTRIDER_FAULT_POINT\("(\w+)"\)', file.read()))
    return found


class Group:
    """Some rounds of kills on one database."""

    def __init__(self, options, number):
        self.options = options
        self.number = number
        self.seed = options.seed * 1000 + number
        self.random = random.Random(f"{self.seed} kills")
        self.done = collections.Counter()
        self.orphans = {}  # what a killed node holds, and since when we know
        self.waited = 0.0

    def plan(self, count):
        cards = []
        for _ in range(DECKS_PER_GROUP[self.options.store]):
            deck = deck_of(self.options.store)
            self.random.shuffle(deck)
            cards += deck
        return cards[:count]

    def run(self, count):
        on_postgres = self.options.store == "postgres"
        begun = time.monotonic()
        with World(PostgresStore() if on_postgres else None, self.options, self.seed) as self.world:
            self.world.start_provider()
            keeper = self.world.start_engine(1).ready() if on_postgres else None
            if keeper is None:
                self.world.start_engine().ready().kill()  # makes the tables for the client
            self.world.start_client(nodes=2 if on_postgres else 1)
            for card in self.plan(count):
                self.kill(card)
                if keeper is not None and not keeper.alive():
                    raise Failed(f"the node that nobody killed ended: {keeper.text()[-600:]}")
                if keeper is not None:
                    self.look_at_orphans(keeper)
            self.world.start_engine().ready()
            killing = time.monotonic() - begun
            settling = self.world.settle()
            said = self.world.check()
        print(f"{self.options.store} group {self.number}: {sum(self.done.values())} kills in {killing:.0f} s, at rest after {settling:.1f} s; "
              + (f"taken over within {self.waited:.1f} s; " if on_postgres else "") + said, flush=True)

    def kill(self, card):
        if card == AT_RANDOM:
            engine = self.world.start_engine()
            time.sleep(self.random.uniform(0.02, 0.4))
            engine.kill()
        else:
            if card.endswith("take_over"):
                self.leave_work_behind()
            nth = self.random.randint(1, {**COMMON, **ONLY[self.options.store]}[card])
            engine = self.world.start_engine(0, FAULTS_BINARY, {"POSTRIDER_FAULT": f"{card}:{nth}:kill"})
            if not engine.died_by_kill(REACHED_WITHIN):
                raise Failed(f"the point {card} was not passed {nth} times within {REACHED_WITHIN} s")
        self.done[card] += 1

    def look_at_orphans(self, alive):
        """Between two kills only the node that nobody kills is alive: what any other one holds has to be taken over in time."""
        keeper = self.world.store.numbers(f"SELECT coalesce(max(id), 0) FROM postrider.node WHERE name LIKE '%-{alive.process.pid}'")[0]
        now = time.monotonic()
        held = world.psql(self.world.store.url, "SELECT id, node, fence FROM postrider.queue WHERE channel <> 0 AND node <> 0 "
                                                f"AND node <> {keeper}")
        self.orphans = {tuple(row): self.orphans.get(tuple(row), now) for row in held}
        for (delivery, node, _), since in self.orphans.items():
            self.waited = max(self.waited, now - since)
            if now - since > RESUMED_WITHIN:
                raise Failed(f"delivery {delivery} of the killed node {node} was not taken over within {RESUMED_WITHIN:.0f} s")

    def leave_work_behind(self):
        """Only a start that finds rows of a dead node takes something over."""
        held = "SELECT count(*) FROM postrider.queue WHERE node <> 0 AND channel <> 0"
        if self.world.store.numbers(held)[0] > 0:
            return
        engine = self.world.start_engine().ready()
        world.wait_for("the engine holds work", lambda: self.world.store.numbers(held)[0] > 0, 20)
        engine.kill()
        self.done[AT_RANDOM] += 1
        if self.world.store.numbers(held)[0] == 0:  # it was recorded between the look and the kill
            self.leave_work_behind()


def run(options):
    named = {*COMMON, *ONLY["sqlite"], *ONLY["postgres"]}
    unknown = points_in_the_source() - named
    if unknown:
        raise Failed(f"nobody kills at {', '.join(sorted(unknown))}")
    group_size = DECKS_PER_GROUP[options.store] * len(deck_of(options.store))
    done = collections.Counter()
    for number in range((options.kills + group_size - 1) // group_size):
        if options.only_group is not None and number != options.only_group:
            continue
        group = Group(options, number)
        options.replay = world.replay_command(options, only_group=number)
        group.run(min(group_size, options.kills - number * group_size))
        done += group.done
    total = sum(done.values())
    print("kills: " + ", ".join(f"{point} {count}" for point, count in sorted(done.items())))
    print(f"{options.store}: {total} kills, nothing lost, doubled without a record or untold ({world.bound(total, 'kill')})")


def add(parser):
    parser.add_argument("--store", choices=["sqlite", "postgres"], required=True)
    parser.add_argument("--kills", type=int, default=280)
    parser.add_argument("--only-group", type=int, help="repeats one group of a run")


if __name__ == "__main__":
    sys.exit(world.main(__doc__, add, run))
