#!/usr/bin/python3
"""Judges a run by what three parties wrote down: the client's ledger, the provider's ledger and the database, read by SQL of its own.

  check.py --store sqlite:PATH|postgresql://... --client FILE... --provider FILE [--attempts-max N] [--when settled|cut] [--only-violations]
  check.py --self-test     plants a run that breaks each invariant; each must be caught, and a good run must pass

Prints each invariant with PASS, or FAIL and the first counter-example; exits 1 when one failed. `settled`: everything has come to rest;
`cut`: the database as it was at one moment, with work under way. It shares no code with the engine: what the numbers in the tables mean
is written down here once more.
"""
import argparse
import json
import re
import sqlite3
import subprocess
import sys
import uuid
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace

ACCEPTED, NOT_SENT, TRANSIENT, PERMANENT, UNCLEAR, MISCONFIGURED, UNMAPPED = range(1, 8)
SENT, DELIVERED = 3, 4
SETTLED_STATES = {3, 4, 7, 8, 9, 10}
DUPLICATE, EXPANDED = 5, 3
AT_MOST_ONCE = 2
CLOCKS_DIFFER_US = 50_000  # the provider's clock and those of the nodes, which ask the database for its time, are not the same one

# table -> columns. A delivery's four places, its attempts, and the way in.
TABLES = {
    "outbox": "id, idempotency_key",
    "message": "id, uuid, idempotency_key",
    "message_state": "message, state, reason",
    "delivery": "id, message, guarantee",
    "queue": "id, channel, node, fence, attempt, claimed_at",
    "deferred": "id, channel, fence, attempt, reason",
    "parked": "id, fence, attempt, reason",
    "settled": "id, state, reason, at",
    "attempt": "delivery, fence, seq, attempt, outcome, reason, started_at, ended_at",
}


# --- reading

def read_sqlite(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)
    try:
        connection.execute("BEGIN")
        return {table: connection.execute(f"SELECT {columns} FROM postrider_{table}").fetchall() for table, columns in TABLES.items()}
    finally:
        connection.close()


def read_postgres(url):
    script = "\\set ON_ERROR_STOP on\nBEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n"
    for table, columns in TABLES.items():
        script += f"\\echo =={table}\nSELECT {columns} FROM postrider.{table};\n"
    done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-F", "\t", url], input=script, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"psql: {done.stderr.strip()}")
    tables, rows = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("=="):
            rows = tables[line[2:]] = []
        elif line:
            rows.append(tuple(int(value) if re.fullmatch(r"-?\d+", value) else value or None for value in line.split("\t")))
    return tables


def read_store(url):
    tables = read_sqlite(url.removeprefix("sqlite:")) if url.startswith("sqlite:") else read_postgres(url)
    return SimpleNamespace(**{table: [SimpleNamespace(**dict(zip(TABLES[table].split(", "), row))) for row in rows]
                              for table, rows in tables.items()})


def text_of_uuid(value):
    return str(uuid.UUID(bytes=value)) if isinstance(value, bytes) else str(value)


def read_lines(path):
    """The whole lines of a ledger; what is being written at this moment has no end yet."""
    text = Path(path).read_text(encoding="utf-8")
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


class Run:
    """Everything that was written down, put together by message and by delivery."""

    def __init__(self, store, client, calls, options):
        self.store, self.client, self.calls, self.options = store, client, calls, options
        self.message_of = {row.id: text_of_uuid(row.uuid) for row in store.message}
        self.state_of = {self.message_of.get(row.message): row for row in store.message_state}
        self.ids_of_key = defaultdict(list)
        for row in store.message:
            self.ids_of_key[row.idempotency_key].append(self.message_of[row.id])
        self.waiting_ids = {text_of_uuid(row.id) for row in store.outbox}
        self.waiting_keys = {row.idempotency_key for row in store.outbox}
        self.deliveries_of = defaultdict(list)
        for row in store.delivery:
            self.deliveries_of[self.message_of.get(row.message)].append(row)
        self.calls_of = defaultdict(list)
        for call in sorted(calls, key=lambda call: call["t"]):
            self.calls_of[call["message"]].append(call)
        self.attempts_of = defaultdict(list)
        for row in sorted(store.attempt, key=lambda row: (row.fence, row.seq)):
            self.attempts_of[row.delivery].append(row)
        self.held_of = {row.id: row for row in store.queue if row.channel != 0 and row.node != 0}

    def settled(self):
        return self.options.when == "settled"

    def deliveries(self):
        """(delivery, message, its calls, its attempts)"""
        for row in self.store.delivery:
            message = self.message_of.get(row.message)
            yield row, message, self.calls_of.get(message, []), self.attempts_of.get(row.id, [])

    def known_ids(self):
        return set(self.message_of.values()) | self.waiting_ids

    def acked(self):
        """key -> the ids that were acknowledged for it, of both ways in; by SQL the id is not what was promised."""
        by_key = defaultdict(set)
        for line in self.client:
            if line["what"] == "acked":
                by_key[line["key"]].add(line["id"])
        return by_key

    def transactions(self):
        """(begin line, how it ended)"""
        ends = {line["tx"]: line["what"] for line in self.client if line["what"] in ("committed", "rolled_back", "unknown")}
        for line in self.client:
            if line["what"] == "begin":
                yield line, ends.get(line["tx"], "unknown")


# --- the invariants: each gives its counter-examples

def acknowledged_is_there(run):
    """I1: what was acknowledged by HTTP or committed by SQL is in the database, once, with the id that was told"""
    keys = dict(run.acked())
    for line, end in run.transactions():
        if end == "committed":
            keys.update({key: keys.get(key, set()) for key in line["keys"]})
    for key, told in keys.items():
        if key in run.waiting_keys and not run.settled():
            continue
        ids = run.ids_of_key.get(key, [])
        if not ids:
            yield f"key {key} (told {sorted(told) or 'commit'}) is nowhere"
            continue
        first = [each for each in ids if each not in run.state_of or run.state_of[each].state != DUPLICATE]
        if len(first) != 1:
            yield f"key {key} has {len(first)} messages that are no duplicates: {first}"
        elif told and told != set(first):
            yield f"key {key} was told {sorted(told)} and is {first}"


def idempotent(run):
    """I14: the same key was always answered with the same id"""
    for key, ids in run.acked().items():
        if len(ids) > 1:
            yield f"key {key} was answered with {sorted(ids)}"


def atomic(run):
    """I2: committed all, rolled back none, unknown all or none"""
    known = run.known_ids()
    for line, end in run.transactions():
        there = [each for each in line["ids"] if each in known]
        if end == "rolled_back" and (there or any(each in run.calls_of for each in line["ids"])):
            yield f"transaction {line['tx']} was rolled back, and {there or 'a call for one of its messages'} exists"
        if end == "committed" and len(there) != len(line["ids"]):
            yield f"transaction {line['tx']} was committed and {len(line['ids']) - len(there)} of its {len(line['ids'])} messages are missing"
        if end == "unknown" and 0 < len(there) < len(line["ids"]):
            yield f"transaction {line['tx']}: {len(there)} of {len(line['ids'])} messages exist"


def conserved(run):
    """I3: every message became its one delivery, and every delivery is in exactly one place"""
    for message in run.message_of.values():
        state = run.state_of[message].state if message in run.state_of else EXPANDED
        expected = 1 if state == EXPANDED else 0
        if state not in (EXPANDED, DUPLICATE):
            yield f"message {message} ended in state {state}, reason {run.state_of[message].reason}"
        elif len(run.deliveries_of.get(message, [])) != expected:
            yield f"message {message} (state {state}) has {len(run.deliveries_of.get(message, []))} deliveries"
    places = defaultdict(list)
    for place in ("queue", "deferred", "parked", "settled"):
        for row in getattr(run.store, place):
            if getattr(row, "channel", 1) != 0:
                places[row.id].append(place)
    known = {row.id for row in run.store.delivery}
    for delivery in known | set(places):
        if delivery not in known:
            yield f"{places[delivery]} hold {delivery}, which is no delivery"
        elif len(places[delivery]) != 1:
            yield f"delivery {delivery} is in {places[delivery] or 'no place'}"


def no_false_word(run):
    """I4: sent means that the provider acted and said so; each accepted and each refused attempt has its answer in the provider's ledger"""
    state_of = {row.id: row.state for row in run.store.settled}
    for row, message, calls, attempts in run.deliveries():
        said = Counter(call["then"] for call in calls)
        if state_of.get(row.id) in (SENT, DELIVERED) and not any(call["acted"] and call["then"] == "200" for call in calls):
            yield f"delivery {row.id} of {message} is settled as sent; the provider has {dict(said) or 'never heard of it'}"
        accepted = len({each.fence for each in attempts if each.outcome == ACCEPTED})
        refused = len({each.fence for each in attempts if each.outcome == TRANSIENT})
        if accepted > said["200"] or refused > said["429"]:
            yield f"delivery {row.id} of {message}: {accepted} accepted and {refused} refused attempts; the provider answered {dict(said)}"


def write_ahead(run):
    """I5: every call at the provider belongs to an attempt that was on disk before it"""
    known = set(run.message_of.values())
    for message in run.calls_of:
        if message not in known:
            yield f"the provider was called for {message}, which is not in the database"
    for row, message, calls, attempts in run.deliveries():
        begun = {}
        for each in attempts:
            begun[each.fence] = min(begun.get(each.fence, each.started_at), each.started_at)
        if row.id in run.held_of:
            begun[run.held_of[row.id].fence] = run.held_of[row.id].claimed_at
        if len(calls) > len(begun):
            yield f"delivery {row.id} of {message}: {len(calls)} calls, {len(begun)} attempts"
            continue
        for call, start in zip(calls, sorted(begun.values())):
            if call["t"] + CLOCKS_DIFFER_US < start:
                yield f"delivery {row.id} of {message}: a call at {call['t']}, its attempt began at {start}"


def unclear_fences(run, delivery, attempts):
    """The attempts of which it is on record that nobody knows, or knew in time, what they came to."""
    fences = {each.fence for each in attempts if each.outcome == UNCLEAR or each.seq == 1}
    return fences | ({run.held_of[delivery].fence} if delivery in run.held_of else set())


def duplicates_are_explained(run):
    """I7: effects <= 1 + attempts on record as unclear or late"""
    for row, message, calls, attempts in run.deliveries():
        effects = sum(call["acted"] for call in calls)
        unclear = len(unclear_fences(run, row.id, attempts))
        if effects > 1 + unclear:
            yield f"delivery {row.id} of {message}: {effects} effects, {unclear} unclear attempts"


def at_most_once(run):
    """I6: what must not be sent twice: no call after one that was acted on or is on record as unclear"""
    for row, message, calls, attempts in run.deliveries():
        if row.guarantee != AT_MOST_ONCE:
            continue
        ends = [index for index, call in enumerate(calls) if call["acted"] or call["then"] in ("500", "drop", "hang")]
        if ends and ends[0] != len(calls) - 1:
            yield f"delivery {row.id} of {message}: call {ends[0] + 1} of {len(calls)} was acted on or not clearly refused"
        last = max((each.fence for each in attempts), default=0)
        for each in attempts:
            if each.outcome in (ACCEPTED, UNCLEAR) and each.fence < last:
                yield f"delivery {row.id} of {message}: attempt {each.fence} ended with {each.outcome}, and there is attempt {last}"


def within_the_cap(run):
    """I8: no more calls than attempts allowed"""
    cap = run.options.attempts_max
    for row, message, calls, attempts in run.deliveries():
        counted = max((each.attempt for each in attempts), default=0)
        if len(calls) > cap or counted > cap:
            yield f"delivery {row.id} of {message}: {len(calls)} calls, attempt number {counted}, {cap} allowed"


def fences_increase(run):
    """I9: fences strictly increase, each attempt is closed once, no delivery stands behind its attempts"""
    for row, message, _, attempts in run.deliveries():
        ends = [each for each in attempts if each.seq == 0]
        if len({each.fence for each in ends}) != len(ends) or any(each.seq not in (0, 1) for each in attempts):
            yield f"delivery {row.id} of {message}: an attempt has two ends"
        for before, after in zip(ends, ends[1:]):
            if after.attempt < before.attempt or after.started_at + CLOCKS_DIFFER_US < before.started_at:
                yield f"delivery {row.id} of {message}: attempt {before.fence} is number {before.attempt}, attempt {after.fence} is {after.attempt}"
    last = {delivery: max(each.fence for each in attempts) for delivery, attempts in run.attempts_of.items()}
    for place in ("queue", "deferred", "parked"):
        for row in getattr(run.store, place):
            if getattr(row, "channel", 1) != 0 and row.fence < last.get(row.id, 0):
                yield f"delivery {row.id} is in {place} with fence {row.fence}, its attempts reached {last[row.id]}"


def one_at_a_time(run):
    """I10: attempts of one delivery do not overlap"""
    for row, message, _, attempts in run.deliveries():
        ends = [each for each in attempts if each.seq == 0]
        for before, after in zip(ends, ends[1:]):
            if after.started_at + CLOCKS_DIFFER_US < before.ended_at:
                yield f"delivery {row.id} of {message}: attempt {after.fence} began before attempt {before.fence} ended"


def settled_stays(run):
    """I11: nothing is attempted after it was settled"""
    at = {row.id: row.at for row in run.store.settled}
    for row, message, _, attempts in run.deliveries():
        late = [each for each in attempts if each.seq == 0 and row.id in at and each.started_at > at[row.id] + CLOCKS_DIFFER_US]
        if late:
            yield f"delivery {row.id} of {message} was settled at {at[row.id]}, and attempt {late[0].fence} began at {late[0].started_at}"


def same_key_at_the_provider(run):
    """the provider sees one key for a delivery over all calls, and no key twice"""
    owner = {}
    for message, calls in run.calls_of.items():
        keys = {call["key"] for call in calls}
        if len(keys) != 1 or None in keys:
            yield f"message {message} was called with keys {sorted(map(str, keys))}"
        for key in keys:
            if owner.setdefault(key, message) != message:
                yield f"messages {owner[key]} and {message} share the key {key}"


def every_end_has_a_reason(run):
    """every end has a reason and a known state"""
    for row in run.store.settled:
        if row.state not in SETTLED_STATES or not row.reason:
            yield f"delivery {row.id} is settled with state {row.state}, reason {row.reason}"
    for place in ("parked", "deferred", "attempt", "message_state"):
        for row in getattr(run.store, place):
            if not row.reason:
                yield f"a row of {place} has no reason: {row}"


def everything_settles(run):
    """nothing waits any more, and nothing was refused"""
    for line in run.client:
        if line["what"] == "refused":
            yield f"key {line['key']} was refused with {line['status']}"
    if not run.settled():
        return
    for place in ("outbox", "queue", "deferred"):
        rows = getattr(run.store, place)
        if rows:
            yield f"{len(rows)} rows are left in {place}, for example {rows[0]}"


def there_is_something_to_judge(run):
    """the ledgers and the database are not empty"""
    for name, count in (("acknowledged keys", len(run.acked())), ("transactions", sum(1 for _ in run.transactions())),
                        ("calls", len(run.calls)), ("deliveries", len(run.store.delivery)), ("attempts", len(run.store.attempt))):
        if count == 0:
            yield f"there are no {name}"


INVARIANTS = [acknowledged_is_there, idempotent, atomic, conserved, no_false_word, write_ahead, duplicates_are_explained, at_most_once,
              within_the_cap, fences_increase, one_at_a_time, settled_stays, same_key_at_the_provider, every_end_has_a_reason,
              everything_settles, there_is_something_to_judge]


def check(run):
    """[(invariant, its counter-examples)]"""
    return [(invariant, list(invariant(run))) for invariant in INVARIANTS]


def load(options):
    client = [line for path in options.client for line in read_lines(path)]
    # The provider is read last when everything rests, and first when the database is a picture of a moment: it is ahead of neither.
    return Run(read_store(options.store), client, read_lines(options.provider), options)


def summary(run):
    effects = Counter(call["message"] for call in run.calls if call["acted"])
    unclear = sum(len(unclear_fences(run, row.id, attempts)) for row, _, _, attempts in run.deliveries())
    ends = Counter(end for _, end in run.transactions())
    return (f"{len(run.acked())} acknowledged by HTTP; transactions: {ends['committed']} committed, {ends['rolled_back']} rolled back, "
            f"{ends['unknown']} unknown; {len(run.store.delivery)} deliveries, {len(run.store.attempt)} attempts, {unclear} unclear or late; "
            f"{len(run.calls)} calls, {sum(1 for count in effects.values() if count > 1)} messages with more than one effect; "
            f"{len(run.store.settled)} settled, {len(run.store.parked)} parked")


def report(run, only_violations=False):
    """Whether all hold; prints as it goes."""
    good = True
    for invariant, found in check(run):
        words = invariant.__doc__.strip()
        if found:
            good = False
            print(f"FAIL  {words}\n      {found[0]}" + (f"   (and {len(found) - 1} more)" if len(found) > 1 else ""))
        elif not only_violations:
            print(f"PASS  {words}")
    print(f"checked: {summary(run)}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--store")
    parser.add_argument("--client", nargs="+", default=[])
    parser.add_argument("--provider")
    parser.add_argument("--attempts-max", type=int, default=20)
    parser.add_argument("--when", choices=["settled", "cut"], default="settled")
    parser.add_argument("--only-violations", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        from planted import self_test
        return self_test()
    if not options.store or not options.client or not options.provider:
        parser.error("--store, --client and --provider are needed")
    return 0 if report(load(options), options.only_violations) else 1


if __name__ == "__main__":
    sys.exit(main())
