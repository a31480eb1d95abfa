"""The canary: a log row, an outcome or a POST too few or too many must refuse the figure, for Postrider and for a peer."""
import urllib.request

from lib import machine, peers, postrider

COUNT = 2_000
SPOILS = {"": "counts as they are", "log": "one log row deleted", "outcome": "one outcome deleted", "post": "one POST more than deliveries"}


def spoil(bench, what):
    def act(query, tables):
        if what == "post":
            urllib.request.urlopen(urllib.request.Request(bench.nginx.url, data=b"x", method="POST")).read()
            return
        table, key = tables[what]
        query(f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} LIMIT 1)")
    return act if what else None


def run(bench):
    ways = {"a peer": lambda: peers.drain(bench, "pg-boss", COUNT, True),
            "Postrider on PostgreSQL": lambda: postrider.drain(bench, postrider.Postgres, COUNT),
            "Postrider on SQLite": lambda: postrider.drain(bench, postrider.Sqlite, COUNT),
            "the whole way": lambda: postrider.whole_way(bench, postrider.Postgres, COUNT)}
    failed = 0
    for name, way in ways.items():
        for what, words in SPOILS.items():
            bench.sabotage = spoil(bench, what)
            try:
                way()
                refused = ""
            except machine.Refused as error:
                refused = str(error)
            good = bool(refused) == bool(what)
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {name}, {words}: {'refused: ' + refused if refused else 'accepted'}", flush=True)
    print(f"self-test: {len(ways) * len(SPOILS) - failed} passed, {failed} failed")
    return 1 if failed else 0
