#!/usr/bin/python3
"""What is decided just before a call: texts from the record as it is then, secrets that stay nowhere, rates and limits of open calls."""
import base64
import os
import sys
import threading
import time
import unittest

import harness
from harness import wait_for

TOKEN = "r5vp-7f3c-91aa-canary"


def in_seconds(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def forms_of(word):
    """As it is, and as base64 would show it at each of the three places where it can begin."""
    yield word
    for ahead in range(3):
        yield base64.b64encode(b"\0" * ahead + word + b"\0\0")[4 if ahead else 0:][:len(word) * 4 // 3 - 4]


def found_in_memory(process, words):
    """Looks at everything that the process may write to, as a core file would hold it."""
    found = []
    with open(f"/proc/{process}/maps", encoding="ascii") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in maps:
            place, rights, *rest = line.split()
            if "r" not in rights or "w" not in rights or "[vvar]" in line:
                continue
            begin, end = (int(part, 16) for part in place.split("-"))
            try:
                memory.seek(begin)
                content = memory.read(end - begin)
            except (OSError, ValueError):
                continue
            for word in words:
                at = content.find(word)
                if at >= 0:
                    found.append((rest[-1] if len(rest) > 3 else "memory", content[max(0, at - 40):at + 60]))
    return found


class Late:
    def setUp(self):
        super().setUp()
        self.make_application()
        self.run_sql("CREATE TABLE booking (id integer PRIMARY KEY, guest text, email text, status text)")
        self.run_sql("INSERT INTO booking VALUES (1, 'Asha', 'asha@example.org', 'Confirmed'), (2, 'Bo', 'bo@example.org', 'Confirmed'),"
                     " (3, 'Cy', 'cy@example.org', 'Confirmed')")

    def configure(self, extra="", **more):
        if not extra:
            return super().configure(**more)
        return super().configure(extra=extra + f"""
[[tenants]]
name = "default"
channels = {{ email = ["box"], webhook = ["hook"] }}
[providers.box]
type = "sandbox"
channel = "email"
""", **more)

    def with_booking(self, render=""):
        self.configure(extra=f"""
[databases.app]
url = "{self.application_url}"
timeout = "1s"
[[routes]]
type = "booking.reminder"
recipients = {{ email = "email" }}
{render}
[routes.context]
query = "SELECT guest, email, status FROM booking WHERE id = :entity_id"
[routes.cancel_when]
field = "status"
in = ["Cancelled"]
[[templates]]
key = "reminder"
type = "booking.reminder"
channel = "email"
subject = "Reminder"
body = "See you soon, {{{{guest}}}}"
""")

    def body_of(self, engine, message):
        status, answer = engine.request("GET", "/api/v1/sandbox/messages?limit=200")
        self.assertEqual(status, 200, answer)
        return [item["body"] for item in answer["messages"] if item["id"] == message]

    def wait_state(self, engine, message, state):
        def look():
            answer = self.notification(engine, message)
            return answer if {each["state"] for each in answer["deliveries"]} == {state} else None

        return wait_for(f"{message} is {state}", look)

    def test_what_waits_is_written_from_the_record_as_it_is_when_it_is_sent(self):
        self.with_booking()
        engine = self.start()
        changed = self.send(engine, type="booking.reminder", entity_id="1", due_at=in_seconds(3))
        cancelled = self.send(engine, type="booking.reminder", entity_id="2", due_at=in_seconds(3))
        for message in changed, cancelled:
            wait_for("it waits", lambda: self.notification(engine, message)["deliveries"])  # pylint: disable=cell-var-from-loop
        self.run_sql("UPDATE booking SET guest = 'Asha Rao' WHERE id = 1")
        self.run_sql("UPDATE booking SET status = 'Cancelled' WHERE id = 2")
        self.wait_state(engine, changed, "delivered")
        self.assertEqual(self.body_of(engine, changed), ["See you soon, Asha Rao"])
        view = self.wait_state(engine, cancelled, "cancelled")
        self.assertEqual(view["deliveries"][0]["reason"]["code"], "cancelled_by_condition")
        self.assertEqual(self.body_of(engine, cancelled), [])
        status, told = engine.request("GET", f"/api/v1/explain?message={cancelled}")
        self.assertEqual(status, 200, told)
        self.assertIn("status is Cancelled", str(told))

    def test_a_route_may_ask_for_late_texts_always(self):
        self.with_booking('render = "late"')
        engine = self.start()
        message = self.send(engine, type="booking.reminder", entity_id="3")
        self.wait_state(engine, message, "delivered")
        self.assertEqual(self.body_of(engine, message), ["See you soon, Cy"])
        self.assertEqual(self.store.query("SELECT count(*) FROM postrider.rendering"), [(1,)])

    def test_a_database_that_is_gone_makes_it_wait_without_using_up_an_attempt(self):
        self.with_booking()
        engine = self.start()
        message = self.send(engine, type="booking.reminder", entity_id="1", due_at=in_seconds(2))
        wait_for("it waits", lambda: self.notification(engine, message)["deliveries"])
        self.run_sql("ALTER TABLE booking RENAME TO away")
        waiting = wait_for("it says why", lambda: (lambda d: d if d["reason"]["code"] == "context_failed" else None)(
            self.notification(engine, message)["deliveries"][0]))
        self.assertEqual((waiting["state"], waiting["attempt_count"], waiting["attempts"]), ("retrying", 0, []))
        self.assertIn("booking", waiting["detail"])
        self.run_sql("ALTER TABLE away RENAME TO booking")
        self.wait_state(engine, message, "delivered")

    # --- secrets

    def secret_route(self):
        self.configure(extra="""
[[routes]]
type = "code.made"
recipients = { webhook = "url", email = "email" }
[[templates]]
key = "code"
type = "code.made"
channel = "webhook"
body = '{"code":"{{{secret.token}}}","for":"{{name}}"}'
[[templates]]
key = "code-mail"
type = "code.made"
channel = "email"
subject = "Your code"
body = "Your code: {{secret.token}}"
""")

    def places(self, engine, words):
        """Every place where somebody could look afterwards."""
        found = []
        folders = [self.home]
        if self.store.name == "postgres":
            self.store.admin("CHECKPOINT")
            connection = self.store.connect()
            cursor = connection.cursor()
            cursor.execute("SHOW data_directory")
            folders.append(cursor.fetchone()[0])
            connection.close()
        for top in folders:
            for folder, _, names in os.walk(top):
                for name in names:
                    try:
                        with open(os.path.join(folder, name), "rb") as file:
                            content = file.read()
                    except OSError:
                        continue
                    found += [os.path.join(folder, name) for word in words if word in content]
        paths = ["/api/v1/notifications", "/api/v1/sandbox/messages", "/metrics", "/readyz"]
        for row in self.store.query("SELECT uuid FROM postrider.delivery"):
            message = row[0].hex() if isinstance(row[0], bytes) else str(row[0])
            paths += [f"/api/v1/notifications/{message}", f"/api/v1/explain?message={message}"]
        for path in paths:
            answer = str(engine.request("GET", path)[1]).encode()
            found += [path for word in words if word in answer]
        return found

    def test_a_secret_reaches_the_provider_and_stays_nowhere(self):
        self.secret_route()
        self.command("keys", "seal", "new")
        # The provider repeats what it was sent: that must not be kept either.
        self.provider.answer = lambda call: (200, call["body"])
        engine = self.start()
        words = list(forms_of(TOKEN.encode()))
        for number in range(20):
            message = self.send(engine, type="code.made", entity_id=str(number), secret={"token": TOKEN},
                                payload={"url": self.provider.url, "email": "asha@example.org", "name": "Asha"})
        wait_for("all are sent", lambda: len(self.provider.bodies()) == 20)
        self.wait_settled()
        self.assertEqual(set(self.provider.bodies()), {b'{"code":"' + TOKEN.encode() + b'","for":"Asha"}'})
        view = self.notification(engine, message)
        self.assertEqual({each["state"] for each in view["deliveries"]}, {"delivered"})
        self.assertEqual(self.store.query("SELECT count(*) FROM postrider.secret"), [(0,)], "the box itself is gone")
        wait_for("nothing of it is in memory any more", lambda: not found_in_memory(engine.process.pid, words), 10, 0.5)
        self.assertEqual(self.places(engine, words), [])
        # The look itself can see: what is not secret is found by it.
        self.assertTrue(found_in_memory(engine.process.pid, [b"code.made"]))
        self.assertTrue(self.places(engine, [b"code.made"]))

    def test_a_box_that_no_key_opens_is_kept_for_somebody_who_has_it(self):
        self.secret_route()
        self.command("keys", "seal", "new")
        engine = self.start()
        status, _ = engine.request("GET", "/api/v1/seal-key")
        self.assertEqual(status, 200)
        away = os.path.join(self.home, "away")
        os.rename(os.path.join(self.home, "seal"), away)
        with open(os.path.join(away, os.listdir(away)[0]), encoding="ascii") as file:
            public = next(line.split()[1] for line in file if line.startswith("public"))
        import secrets_test  # pylint: disable=import-outside-toplevel
        box = base64.b64encode(secrets_test.foreign_box(base64.b64decode(public), b'{"token":"' + TOKEN.encode() + b'"}')).decode()
        message = self.send(engine, type="code.made", sealed=box, payload={"email": "asha@example.org"})
        parked = self.wait_state(engine, message, "parked")
        self.assertEqual(parked["deliveries"][0]["reason"]["code"], "secret_missing")
        self.assertEqual(self.store.query("SELECT count(*) FROM postrider.secret"), [(1,)])
        os.rename(away, os.path.join(self.home, "seal"))
        status, answer = engine.request("POST", f"/api/v1/notifications/{message}/retry", {"why": "the key is back"})
        self.assertEqual(status, 200, answer)
        self.wait_state(engine, message, "delivered")
        self.assertEqual(self.store.query("SELECT count(*) FROM postrider.secret"), [(0,)])

    # --- limits

    def test_a_providers_rate_is_kept_and_what_waits_says_why(self):
        self.configure(provider=f'type = "webhook"\nurl = "{self.provider.url}"\nallow_internal = true\nrate = "10/s"\nburst = 1')
        engine = self.start()
        begun = time.monotonic()
        for _ in range(30):
            message = self.send(engine)
        told = wait_for("it says why", lambda: (lambda said: said if "limited_by_rate" in said else None)(str(self.notification(engine, message))))
        self.assertIn("hook: 10 a second", told)
        wait_for("all are sent", lambda: len(self.provider.bodies()) == 30)
        self.assertGreater(time.monotonic() - begun, 2.4)
        self.wait_settled()

    def test_a_tenant_has_so_many_calls_open_and_no_more(self):
        open_calls, most, lock = [0], [0], threading.Lock()

        def slowly(_):
            with lock:
                open_calls[0] += 1
                most[0] = max(most[0], open_calls[0])
            time.sleep(0.1)
            with lock:
                open_calls[0] -= 1
            return 200, b"{}"

        self.provider.answer = slowly
        super().configure(extra='[[tenants]]\nname = "default"\nconcurrency = 3\n')
        engine = self.start()
        for _ in range(30):
            self.send(engine)
        wait_for("all are sent", lambda: len(self.provider.bodies()) == 30)
        self.assertEqual(most[0], 3)


class SqliteLate(harness.SqliteApplication, Late, harness.Case):
    store_kind = harness.Sqlite


class PostgresLate(harness.PostgresApplication, Late, harness.Case):
    store_kind = harness.Postgres


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    sys.exit(harness.main())
