"""The canary: counts that are wrong must refuse the figure, for Postrider and for a peer."""
from lib import machine, peers, postrider


def run(bench):
    count, failed = 2_000, 0
    ways = {"a peer": lambda: peers.drain(bench, "pg-boss", count, True),
            "Postrider on PostgreSQL": lambda: postrider.drain(bench, postrider.Postgres, count),
            "Postrider on SQLite": lambda: postrider.drain(bench, postrider.Sqlite, count),
            "the whole way": lambda: postrider.whole_way(bench, postrider.Postgres, count)}
    for name, way in ways.items():
        for sabotage in (0, 1):
            bench.sabotage = sabotage
            try:
                way()
                refused = ""
            except machine.Refused as error:
                refused = str(error)
            good = bool(refused) == bool(sabotage)
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {name}, {'one row too few expected' if sabotage else 'counts right'}: "
                  f"{'refused: ' + refused if refused else 'accepted'}", flush=True)
    print(f"self-test: {len(ways) * 2 - failed} passed, {failed} failed")
    return 1 if failed else 0
