"""The checker's own canary: a small good run, and a way to spoil it against each invariant. `check.py --self-test` runs it."""
import sqlite3
import tempfile
import uuid
from pathlib import Path
from types import SimpleNamespace

from check import (
    ACCEPTED, INVARIANTS, NOT_SENT, TRANSIENT, UNCLEAR, Run, acknowledged_is_there, at_most_once, atomic, check, conserved,
    duplicates_are_explained, every_end_has_a_reason, everything_settles, fences_increase, idempotent, no_false_word, one_at_a_time,
    read_store, same_key_at_the_provider, settled_stays, there_is_something_to_judge, within_the_cap, write_ahead)


class Planted:
    """A small good run in real files, which a plant then spoils."""

    def __init__(self, folder):
        self.path = str(Path(folder) / "planted.db")
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.execute("PRAGMA synchronous=OFF")
        schema = Path(__file__).resolve().parents[2] / "src/store/sqlite/migrations/0001_first.sql"
        self.db.executescript(schema.read_text(encoding="utf-8"))
        self.client, self.calls = [], []
        self.ids = {}
        for number in range(1, 9):
            self.message(number)
        # 1: by HTTP and sent at once. 2: unclear, repeated. 3: refused, repeated. 4 and 5: one transaction. 6: at most once, unclear.
        # 7: taken over, and its node reported late. 8: a duplicate of 1.
        self.call(1, 1, ACCEPTED, "200")
        self.call(2, 1, UNCLEAR, "hang")
        self.call(2, 2, ACCEPTED, "200")
        self.call(3, 1, TRANSIENT, "429")
        self.call(3, 2, ACCEPTED, "200")
        self.call(4, 1, ACCEPTED, "200")
        self.call(5, 1, ACCEPTED, "200")
        self.call(6, 1, UNCLEAR, "drop")
        self.call(7, 1, ACCEPTED, "200", seq=1)
        self.attempt(7, 1, UNCLEAR)
        self.call(7, 3, ACCEPTED, "200", attempt=2)
        for number in (1, 2, 3, 4, 5, 7):
            self.sql(f"INSERT INTO postrider_settled VALUES ({number + 100}, 1, 4, 31, '', 9000000)")
        self.sql("INSERT INTO postrider_parked VALUES (106, 1, 1, 5, 1, 1, 2, 55, '', 9000000, NULL)")
        self.sql("UPDATE postrider_delivery SET guarantee = 2 WHERE id = 106")
        self.sql("DELETE FROM postrider_delivery WHERE id = 108")
        self.sql("UPDATE postrider_message SET idempotency_key = 'k1' WHERE id = 8")
        self.sql("INSERT INTO postrider_message_state VALUES (8, 1, 5, 19, '', 1, 1, 0, '')")
        for number in (1, 2, 3, 6, 7):
            self.client += [{"what": "ask", "key": f"k{number}"}, {"what": "acked", "key": f"k{number}", "id": self.ids[number]}]
        self.client += [{"what": "begin", "tx": "t1", "ids": [self.ids[4], self.ids[5]], "keys": ["k4", "k5"]},
                        {"what": "committed", "tx": "t1"},
                        {"what": "begin", "tx": "t2", "ids": [str(uuid.UUID(int=901))], "keys": ["k901"]},
                        {"what": "rolled_back", "tx": "t2"},
                        {"what": "begin", "tx": "t3", "ids": [str(uuid.UUID(int=902)), str(uuid.UUID(int=903))], "keys": ["k902", "k903"]}]

    def sql(self, text, *values):
        self.db.execute(text, values)

    def message(self, number, key=None):
        self.ids[number] = str(uuid.UUID(int=number))
        columns = {row[1]: ("" if row[2] == "TEXT" else 0) for row in self.db.execute("PRAGMA table_info(postrider_message)")}
        columns.update(id=number, uuid=uuid.UUID(int=number).bytes, idempotency_key=key or f"k{number}")
        self.insert("message", columns)
        columns = {row[1]: ("" if row[2] == "TEXT" else 0) for row in self.db.execute("PRAGMA table_info(postrider_delivery)")}
        columns.update(id=number + 100, message=number, uuid=b"", guarantee=1)
        self.insert("delivery", columns)

    def insert(self, table, columns):
        names = ", ".join(f'"{name}"' for name in columns)
        self.sql(f"INSERT INTO postrider_{table} ({names}) VALUES ({', '.join('?' * len(columns))})", *columns.values())

    def attempt(self, number, fence, outcome, seq=0, attempt=None):
        start = fence * 1_000_000
        self.sql("INSERT INTO postrider_attempt VALUES (?, ?, ?, ?, 1, 1, ?, 30, '', '', ?, ?)",
                 number + 100, fence, seq, attempt or fence, outcome, start, start + 500_000)

    def call(self, number, fence, outcome, then, seq=0, attempt=None):
        acted = then != "429"
        self.calls.append({"t": fence * 1_000_000 + 1000, "key": f"p{number}", "message": self.ids[number], "acted": acted, "then": then})
        self.attempt(number, fence, outcome, seq, attempt)

    def run(self, when="settled"):
        options = SimpleNamespace(when=when, attempts_max=20)
        return Run(read_store(f"sqlite:{self.path}"), self.client, self.calls, options)


def add_call(planted, number, **change):
    planted.calls.append({"t": 3_000_000, "key": f"p{number}", "message": planted.ids.get(number, str(uuid.UUID(int=number))),
                          "acted": True, "then": "200", **change})


def only_hanging_calls(planted, number):
    for call in planted.calls:
        if call["message"] == planted.ids[number]:
            call["then"] = "hang"


# (what is planted, the invariant that must catch it)
PLANTS = [
    (lambda p: p.client.append({"what": "acked", "key": "k77", "id": str(uuid.UUID(int=77))}), acknowledged_is_there),
    (lambda p: p.client.append({"what": "acked", "key": "k3", "id": p.ids[4]}), acknowledged_is_there),
    (lambda p: p.sql("DELETE FROM postrider_message_state"), acknowledged_is_there),
    (lambda p: p.sql("DELETE FROM postrider_message WHERE id = 5"), acknowledged_is_there),
    (lambda p: p.client.append({"what": "acked", "key": "k1", "id": p.ids[2]}), idempotent),
    (lambda p: p.message(901), atomic),
    (lambda p: p.message(902), atomic),
    (lambda p: p.sql("INSERT INTO postrider_outbox (id, type, payload) VALUES (?, 'x', '{}')", str(uuid.UUID(int=901))), atomic),
    (lambda p: add_call(p, 901), atomic),
    (lambda p: p.sql("DELETE FROM postrider_message WHERE id = 5"), atomic),
    (lambda p: p.sql("DELETE FROM postrider_settled WHERE id = 101"), conserved),
    (lambda p: p.sql("INSERT INTO postrider_settled VALUES (106, 1, 4, 31, '', 1)"), conserved),
    (lambda p: p.sql("INSERT INTO postrider_settled VALUES (555, 1, 4, 31, '', 1)"), conserved),
    (lambda p: p.sql("DELETE FROM postrider_delivery WHERE id = 101"), conserved),
    (lambda p: p.sql("INSERT INTO postrider_message_state VALUES (3, 1, 6, 24, '', 1, 1, 0, '')"), conserved),
    (lambda p: p.calls.pop(0), no_false_word),
    (lambda p: only_hanging_calls(p, 1), no_false_word),
    (lambda p: p.sql("UPDATE postrider_attempt SET outcome = 3 WHERE delivery = 102 AND fence = 1"), no_false_word),
    (lambda p: p.sql("DELETE FROM postrider_attempt WHERE delivery = 101"), write_ahead),
    (lambda p: add_call(p, 77), write_ahead),
    (lambda p: p.calls[0].update(t=900_000), write_ahead),
    (lambda p: p.sql("UPDATE postrider_attempt SET outcome = 2 WHERE delivery = 102 AND fence = 1"), duplicates_are_explained),
    (lambda p: (add_call(p, 1), p.attempt(1, 2, ACCEPTED)), duplicates_are_explained),
    (lambda p: add_call(p, 6), at_most_once),
    (lambda p: p.attempt(6, 2, NOT_SENT), at_most_once),
    (lambda p: p.sql("UPDATE postrider_attempt SET attempt = 21 WHERE delivery = 103 AND fence = 2"), within_the_cap),
    (lambda p: [add_call(p, 3, acted=False, then="429") for _ in range(20)], within_the_cap),
    (lambda p: p.sql("UPDATE postrider_attempt SET attempt = 5 WHERE delivery = 103 AND fence = 1"), fences_increase),
    (lambda p: p.sql("UPDATE postrider_attempt SET started_at = 5000000 WHERE delivery = 103 AND fence = 1"), fences_increase),
    (lambda p: p.sql("UPDATE postrider_parked SET fence = 0"), fences_increase),
    (lambda p: p.attempt(1, 1, ACCEPTED, seq=2), fences_increase),
    (lambda p: p.sql("UPDATE postrider_attempt SET ended_at = 2500000 WHERE delivery = 103 AND fence = 1"), one_at_a_time),
    (lambda p: p.sql("UPDATE postrider_settled SET at = 1500000 WHERE id = 103"), settled_stays),
    (lambda p: p.calls[1].update(key="p99"), same_key_at_the_provider),
    (lambda p: p.calls[0].update(key="p2"), same_key_at_the_provider),
    (lambda p: p.sql("UPDATE postrider_settled SET reason = 0 WHERE id = 101"), every_end_has_a_reason),
    (lambda p: p.sql("UPDATE postrider_settled SET state = 5 WHERE id = 101"), every_end_has_a_reason),
    (lambda p: p.sql("UPDATE postrider_parked SET reason = 0"), every_end_has_a_reason),
    (lambda p: p.client.append({"what": "refused", "key": "k9", "status": 422}), everything_settles),
    (lambda p: p.sql("INSERT INTO postrider_outbox (id, type, payload) VALUES ('x', 'x', '{}')"), everything_settles),
    (lambda p: p.sql("INSERT INTO postrider_queue VALUES (1, 0, 1, 1, 1, 0, 0, 0, 0, 1, NULL, NULL)"), everything_settles),
    (lambda p: p.calls.clear(), there_is_something_to_judge),
]


def self_test():
    wrong = []
    caught = set()
    with tempfile.TemporaryDirectory() as folder:
        for when in ("settled", "cut"):
            for invariant, found in check(Planted(tempfile.mkdtemp(dir=folder)).run(when)):
                if found:
                    wrong.append(f"a good run ({when}) fails {invariant.__name__}: {found[0]}")
        for number, (plant, expected) in enumerate(PLANTS, 1):
            planted = Planted(tempfile.mkdtemp(dir=folder))
            plant(planted)
            if not dict(check(planted.run()))[expected]:
                wrong.append(f"plant {number} was not caught by {expected.__name__}")
            caught.add(expected)
    wrong += [f"nothing is planted against {invariant.__name__}" for invariant in INVARIANTS if invariant not in caught]
    print("\n".join(wrong) if wrong else f"check: a good run passes, and all {len(PLANTS)} plants against {len(INVARIANTS)} invariants are caught")
    return 1 if wrong else 0
