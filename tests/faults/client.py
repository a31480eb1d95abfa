#!/usr/bin/python3
"""An application that enqueues by HTTP and by SQL while everything around it breaks, and keeps a ledger of what it was told.

  client.py --store sqlite:PATH|postgresql://... --targets HOST:PORT,... --api-key FILE --ledger FILE [--seed N] [--rate N]

By HTTP: with an idempotency key, repeated at any node until it is acknowledged. By SQL: transactions of one to three rows, some rolled
back; one whose COMMIT was not answered is repeated with the same keys and new ids. SIGTERM: nothing new, and what is open is brought
to its end. The ledger has one JSON object a line:

  {"what": "ask", "key", "type"}                      before the first request with this key
  {"what": "acked", "key", "id"} | {"what": "refused", "key", "status"}
  {"what": "begin", "tx", "ids", "keys"}              before the transaction
  {"what": "committed" | "rolled_back" | "unknown", "tx"}
"""
import argparse
import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid

TYPES = ["thing.happened", "thing.happened", "thing.happened", "code.issued"]  # every fourth must not be sent twice
stopped = threading.Event()


class Ledger:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8", buffering=1)
        self.lock = threading.Lock()

    def write(self, what, **fields):
        line = json.dumps({"what": what, "t": time.time_ns() // 1000, **fields}) + "\n"
        with self.lock:
            self.file.write(line)


def payload(number):
    return {"number": number, "filler": "x" * 40}


class ByHttp(threading.Thread):
    """One message or five in a request; what was not acknowledged is asked again."""

    def __init__(self, options, ledger, number):
        super().__init__()
        self.options, self.ledger, self.number = options, ledger, number
        self.random = random.Random(f"{options.seed} http {number}")
        self.connections = {}
        self.made = 0
        self.name_of_run = f"h{number}-{options.seed}"

    def run(self):
        waiting = None
        until = None
        while True:
            if stopped.is_set():
                until = until or time.monotonic() + 30
                if waiting is None or time.monotonic() > until:
                    return
            waiting = waiting or self.make()
            if self.ask(waiting):
                waiting = None
                stopped.wait(self.random.expovariate(self.options.rate))
            else:
                time.sleep(0.01)

    def make(self):
        messages = []
        for _ in range(5 if self.random.random() < 0.3 else 1):
            self.made += 1
            key = f"{self.name_of_run}-{self.made}"
            kind = self.random.choice(TYPES)
            messages.append({"type": kind, "idempotency_key": key, "payload": payload(self.made)})
            self.ledger.write("ask", key=key, type=kind)
        return messages

    def ask(self, messages):
        """Whether there is an answer that means something."""
        status, answer = self.post(messages)
        if status in (200, 202):
            answers = answer["messages"] if len(messages) > 1 else [answer]
            for message, told in zip(messages, answers):
                self.ledger.write("acked", key=message["idempotency_key"], id=told["id"])
            return True
        if 400 <= status < 500 and status != 429:
            for message in messages:
                self.ledger.write("refused", key=message["idempotency_key"], status=status)
            return True
        return False

    def post(self, messages):
        target = self.random.choice(self.options.targets)
        try:
            if target not in self.connections:
                host, _, port = target.partition(":")
                self.connections[target] = http.client.HTTPConnection(host, int(port), timeout=5)
            with open(self.options.api_key, encoding="ascii") as file:
                headers = {"authorization": "Bearer " + file.read().strip(), "content-type": "application/json"}
            body = messages
            if len(messages) == 1:
                body = {name: value for name, value in messages[0].items() if name != "idempotency_key"}
                headers["idempotency-key"] = messages[0]["idempotency_key"]
            self.connections[target].request("POST", "/api/v1/messages", json.dumps(body).encode(), headers)
            reply = self.connections[target].getresponse()
            return reply.status, json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError):
            self.connections.pop(target).close()
            return 0, None


class SqliteWay:
    def __init__(self, url, synchronous):
        self.connection = sqlite3.connect(url.removeprefix("sqlite:"), timeout=20, isolation_level=None)
        self.connection.execute(f"PRAGMA synchronous={synchronous}")

    def transact(self, rows, commit):
        """"committed", "rolled_back" or "unknown"."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany("INSERT INTO postrider_outbox (id, type, idempotency_key, payload) VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error:
            commit = False
        if not commit:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            return "rolled_back"
        try:
            self.connection.execute("COMMIT")
            return "committed"
        except sqlite3.Error:
            return "unknown"

    def close(self):
        self.connection.close()


class PostgresWay:
    """One psql that is kept: what it says after the transaction is the acknowledgement."""

    def __init__(self, url):
        self.psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self.number = 0
        if self.say("SELECT 1;") is None:
            raise OSError("no connection")

    def say(self, sql):
        self.number += 1
        try:
            self.psql.stdin.write(f"{sql}\n\\echo done {self.number}\n")
            for line in self.psql.stdout:
                if line.strip() == f"done {self.number}":
                    return True
        except OSError:
            pass
        return None

    def transact(self, rows, commit):
        values = ", ".join(f"('{i}', '{kind}', '{key}', '{body}')" for i, kind, key, body in rows)
        end = "COMMIT" if commit else "ROLLBACK"
        told = self.say(f"BEGIN; INSERT INTO postrider.outbox (id, type, idempotency_key, payload) VALUES {values}; {end};")
        if told is None:
            return "unknown"
        return "committed" if commit else "rolled_back"

    def close(self):
        self.psql.kill()
        self.psql.wait()


class BySql(threading.Thread):
    def __init__(self, options, ledger, number):
        super().__init__()
        self.options, self.ledger, self.number = options, ledger, number
        self.random = random.Random(f"{options.seed} sql {number}")
        self.way = None
        self.made = 0
        self.name_of_run = f"s{number}-{options.seed}"

    def run(self):
        again = None
        until = None
        while True:
            if stopped.is_set():
                until = until or time.monotonic() + 30
                if again is None or time.monotonic() > until:
                    break
            again = self.transact(again)
            if again is None:
                stopped.wait(self.random.expovariate(self.options.rate))
            else:
                time.sleep(0.02)
        if self.way is not None:
            self.way.close()

    def transact(self, again):
        """One transaction; gives (kinds, keys) when it has to be repeated."""
        try:
            self.way = self.way or self.open()
        except (OSError, sqlite3.Error):
            return again
        kinds, keys = again or self.make()
        rows = [(str(uuid.UUID(int=self.random.getrandbits(128), version=4)), kind, key, json.dumps(payload(self.made)))
                for kind, key in zip(kinds, keys)]
        commit = again is not None or self.random.random() > 0.2
        tx = f"{self.name_of_run}-t{self.random.getrandbits(48):x}"
        self.ledger.write("begin", tx=tx, ids=[row[0] for row in rows], keys=keys)
        end = self.way.transact(rows, commit)
        self.ledger.write(end, tx=tx)
        if end == "unknown":
            self.way.close()
            self.way = None
        return (kinds, keys) if commit and end != "committed" else None

    def make(self):
        count = self.random.choice([1, 1, 2, 3])
        keys = []
        for _ in range(count):
            self.made += 1
            keys.append(f"{self.name_of_run}-{self.made}")
        return [self.random.choice(TYPES) for _ in range(count)], keys

    def open(self):
        if self.options.store.startswith("sqlite:"):
            return SqliteWay(self.options.store, self.options.synchronous)
        return PostgresWay(self.options.store)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True)
    parser.add_argument("--targets", required=True, type=lambda text: text.split(","))
    parser.add_argument("--api-key", required=True)
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=60, help="requests, and transactions, a second")
    parser.add_argument("--synchronous", default="FULL")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    ledger = Ledger(options.ledger)
    threads = [ByHttp(options, ledger, 1), ByHttp(options, ledger, 2), BySql(options, ledger, 1)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):  # a signal is taken between two waits
        time.sleep(0.05)
    return 0


if __name__ == "__main__":
    sys.exit(main())
