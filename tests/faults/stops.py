#!/usr/bin/python3
"""PostgreSQL is stopped at once (as by a crash) and started again under load, many times on one database; then the run is judged.

  stops.py [--pg-stops N] [--only-group G]"""
import contextlib
import random
import sys
import tempfile
import time

import world
from server import Server
from world import PostgresStore, World

PER_GROUP = 60


def stop_and_start(here, server, draw):
    """One stop; gives the seconds from the start of the server until something was acknowledged again."""
    time.sleep(draw.uniform(0.05, 0.35))
    server.stop("immediate")
    time.sleep(draw.uniform(0, 0.1))
    before = here.acknowledged()
    server.start()
    begun = time.monotonic()
    world.wait_for("messages are acknowledged again", lambda: here.acknowledged() > before, 30, 0.01)
    return time.monotonic() - begun


def group(options, number, stops):
    seed = options.seed * 1000 + number
    draw = random.Random(f"{seed} stops")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="postrider-pg-", dir=world.memory_folder()))
        server = Server(folder).initialize()
        server.start()
        stack.callback(server.stop)
        here = stack.enter_context(World(PostgresStore(server.url()), options, seed))
        here.start_provider()
        engine = here.start_engine().ready()
        here.start_client()
        here.wait_for_load()
        slowest = max(stop_and_start(here, server, draw) for _ in range(stops))
        settling = here.settle(90)
        if not engine.alive():
            raise world.Failed(f"the engine ended: {engine.text()[-600:]}")
        print(f"postgres group {number}: {stops} stops, acknowledged again after {slowest:.1f} s at most, at rest after {settling:.1f} s; "
              f"{here.check()}", flush=True)


def run(options):
    for number, first in enumerate(range(0, options.pg_stops, PER_GROUP)):
        if options.only_group is None or number == options.only_group:
            options.replay = world.replay_command(options, only_group=number)
            group(options, number, min(PER_GROUP, options.pg_stops - first))
    print(f"postgres: {options.pg_stops} immediate stops, nothing lost ({world.bound(options.pg_stops, 'stop')})")


def add(parser):
    parser.add_argument("--pg-stops", type=int, default=60)
    parser.add_argument("--only-group", type=int, help="repeats one group of a run")


if __name__ == "__main__":
    sys.exit(world.main(__doc__, add, run))
