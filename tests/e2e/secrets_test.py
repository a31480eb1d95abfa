#!/usr/bin/python3
"""Sealed secrets from outside: boxes of another program's libsodium, the commands, and a token that is nowhere on the disk."""
import base64
import ctypes
import json
import os
import subprocess
import sys

import harness

TOKEN = "r5vp-7f3c-91aa-canary"


def foreign_box(public_key, plain):
    """As any producer would make it, without a line of ours."""
    sodium = ctypes.CDLL("libsodium.so.23")
    sodium.sodium_init()
    box = ctypes.create_string_buffer(len(plain) + 48)
    done = sodium.crypto_box_seal(box, plain, ctypes.c_ulonglong(len(plain)), public_key)
    assert done == 0
    return box.raw


def foreign_open(private_key, box):
    sodium = ctypes.CDLL("libsodium.so.23")
    public = ctypes.create_string_buffer(32)
    sodium.crypto_scalarmult_base(public, private_key)
    plain = ctypes.create_string_buffer(len(box) - 48)
    done = sodium.crypto_box_seal_open(plain, box, ctypes.c_ulonglong(len(box)), public.raw, private_key)
    return plain.raw if done == 0 else None


class Secrets:
    def private_keys(self):
        folder = os.path.join(self.home, "seal")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="ascii") as file:
                yield name, base64.b64decode(dict(line.split(" ", 1) for line in file if line[0] != "#")["private"])

    def stored_boxes(self):
        return [base64.b64decode(row[0]) for row in self.store.query("SELECT sealed FROM postrider.secret")]

    def seen_anywhere(self, engine, word):
        """Files of the home folder (store, log, keys) and everything that the API shows."""
        found = []
        for folder, _, names in os.walk(self.home):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    if word.encode() in file.read():
                        found.append(name)
        for path in ["/api/v1/notifications", "/api/v1/sandbox/messages", "/metrics"]:
            if word in str(engine.request("GET", path)[1]):
                found.append(path)
        return found

    def test_what_came_open_is_stored_sealed_and_shown_nowhere(self):
        self.command("keys", "seal", "new")
        engine = self.start()
        self.send(engine, secret={"token": TOKEN}, entity_id="1", due_at="2099-01-01T00:00:00Z")
        harness.wait_for("it is stored", self.stored_boxes)
        [box] = self.stored_boxes()
        [(_, private)] = self.private_keys()
        self.assertEqual(json.loads(foreign_open(private, box)), {"token": TOKEN})
        self.assertEqual(self.seen_anywhere(engine, TOKEN), [])
        if self.store.name == "postgres":
            dump = subprocess.run([os.path.join(os.environ["POSTRIDER_TEST_PG_BIN"], "pg_dump"), self.store.url], capture_output=True, check=True)
            self.assertNotIn(TOKEN.encode(), dump.stdout)
            self.assertIn(b"thing.happened", dump.stdout)

    def test_the_row_of_the_outbox_is_sealed_too(self):
        self.command("keys", "seal", "new")
        engine = self.start("--roles", "api")  # nobody takes it from there
        self.send(engine, secret={"token": TOKEN})
        [row] = self.store.query("SELECT * FROM postrider.outbox")
        columns = [bytes(each) if isinstance(each, memoryview) else str(each).encode() for each in row]
        self.assertFalse([each for each in columns if TOKEN.encode() in each])
        [box] = self.store.query("SELECT sealed FROM postrider.outbox")[0]
        box = bytes(box) if isinstance(box, memoryview) else base64.b64decode(box)
        [(_, private)] = self.private_keys()
        self.assertEqual(json.loads(foreign_open(private, box)), {"token": TOKEN})

    def test_boxes_that_the_producer_made_are_taken_as_they_are(self):
        self.command("keys", "seal", "new")
        engine = self.start()
        status, key = engine.request("GET", "/api/v1/seal-key")
        self.assertEqual(status, 200, key)
        box = foreign_box(base64.b64decode(key["public_key"]), json.dumps({"token": TOKEN}).encode())
        self.send(engine, sealed=base64.b64encode(box).decode(), entity_id="1", due_at="2099-01-01T00:00:00Z")
        harness.wait_for("it is stored", self.stored_boxes)
        self.assertEqual(self.stored_boxes(), [box])

    def test_a_repeat_is_the_same_message_though_its_box_is_another(self):
        self.command("keys", "seal", "new")
        engine = self.start()
        first = self.send(engine, secret={"token": TOKEN}, idempotency_key="k")
        status, again = engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {}, "secret": {"token": TOKEN}, "idempotency_key": "k"})
        self.assertEqual((status, again["id"], again["duplicate"]), (200, first, True))

    def test_without_a_key_a_secret_is_refused_until_there_is_one(self):
        engine = self.start()
        status, answer = engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "secret": {"token": TOKEN}})
        self.assertEqual((status, answer["error"]["code"]), (422, "NO_SEAL_KEY"))
        self.assertEqual(engine.request("GET", "/api/v1/seal-key")[0], 422)
        self.command("keys", "seal", "new")
        self.send(engine, secret={"token": TOKEN})
        self.assertEqual(self.seen_anywhere(engine, TOKEN), [])


class SqliteSecrets(Secrets, harness.Case):
    store_kind = harness.Sqlite

    def seal(self, text, *arguments):
        return subprocess.run([harness.BINARY, "--home", self.home, *arguments, "seal"], input=text, capture_output=True, timeout=60, check=False)

    def test_the_command_seals_what_only_the_key_opens(self):
        self.command("keys", "seal", "new")
        done = self.seal(b'{"token": "' + TOKEN.encode() + b'"}\n')
        self.assertEqual(done.returncode, 0, done.stderr)
        [(_, private)] = self.private_keys()
        self.assertEqual(json.loads(foreign_open(private, base64.b64decode(done.stdout))), {"token": TOKEN})
        self.assertIn("sealed", json.loads(self.seal(b"{}", "--json").stdout))

    def test_what_is_no_secret_is_refused_without_repeating_it(self):
        self.assertEqual(self.seal(b"{}").stderr, b"postrider: there is no seal key; make one with `postrider keys seal new`\n")
        self.command("keys", "seal", "new")
        for text in [b"", TOKEN.encode(), b'["' + TOKEN.encode() + b'"]', b'{"a":"' + TOKEN.encode() + b'"', b'{"a":"' + TOKEN.encode() * 2000 + b'"}']:
            done = self.seal(text)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertNotIn(TOKEN.encode(), done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_keys_are_made_listed_shown_and_retired(self):
        first = json.loads(self.command("--json", "keys", "seal", "new").stdout)
        second = json.loads(self.command("--json", "keys", "seal", "new").stdout)
        uses = {key["name"]: key["use"] for key in json.loads(self.command("--json", "keys", "seal", "list").stdout)}
        self.assertEqual(uses, {first["name"]: "seals", second["name"]: "sealing"})
        self.assertEqual(self.command("keys", "seal", "public").stdout.strip(), second["public_key"])
        self.command("keys", "seal", "retire", second["name"])
        self.assertEqual(self.command("keys", "seal", "public").stdout.strip(), first["public_key"])
        self.command("keys", "seal", "retire", "../admin", code=1)
        for name, _ in self.private_keys():
            self.assertEqual(os.stat(os.path.join(self.home, "seal", name)).st_mode & 0o777, 0o600)


class PostgresSecrets(Secrets, harness.Case):
    store_kind = harness.Postgres


if __name__ == "__main__":
    sys.exit(harness.main())
