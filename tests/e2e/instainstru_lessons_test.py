#!/usr/bin/python3
"""examples/instainstru-lessons on both stores: one key per fact and one effect per key, a ladder of retries that a crash does not forget, a
provider that fails as it is told, and the numbers of all that."""
import os
import re
import sys
import threading

import harness
from harness import wait_for

sys.path.insert(0, os.path.join(harness.ROOT, "examples"))
sys.path.insert(0, os.path.join(harness.ROOT, "examples/instainstru-lessons"))

import scenario  # noqa: E402
from lessons import Lessons  # noqa: E402
from scenario import moment  # noqa: E402

SCENARIO = scenario.Scenario(os.path.join(harness.ROOT, "examples/instainstru-lessons"), "lessons.toml", "LESSONS_DATABASE",
                             {"default": "templates"})
LADDER = [30, 120, 600, 1800, 7200]  # seconds
FAST = '[[policies]]\nchannel = "email"\nkind = "ladder"\nladder = ["20ms", "40ms", "60ms", "80ms", "100ms"]\nmax_attempts = 6\n'
MAIL = '[channels]\nemail = ["mail"]\n[providers.mail]\n{}\n'
STUDENT = ("Sam", "sam@example.org")
CREATED, CANCELLED, COMPLETED = "2026-03-02T09:00:00Z", "2026-03-03T10:00:00Z", "2026-03-09T18:00:00Z"
WEEK, NEXT_WEEK = "2026-03-09", "2026-03-16"
SLOTS = ["Tue 10:00", "Mon 09:00"]


def raise_on(*words):
    return {"NOTIFICATION_PROVIDER_RAISE_ON": ",".join(words)}


class Acceptance:
    def setUp(self):
        super().setUp()
        SCENARIO.prepare(self.home, self.store)
        self.lessons = self.application()
        self.lessons.add_instructor(7, "Ines", "ines@example.org")

    def configure(self, providers=None, extra=""):
        SCENARIO.configure(self.home, providers, extra)

    def application(self):
        connection = self.store.connect()
        self.addCleanup(connection.close)
        return Lessons(connection)

    def book(self, booking=17, lessons=None):
        return (lessons or self.lessons).create_booking(booking, 7, STUDENT, "2026-03-09T17:00:00Z", CREATED)

    def delivery(self, engine, message, **wanted):
        """The message's only delivery, when it is as it should be."""
        def look():
            status, answer = engine.request("GET", f"/api/v1/notifications/{message}")
            found = answer["deliveries"][0] if status == 200 and answer["deliveries"] else {}
            return found if found and all(found[name] == value for name, value in wanted.items()) else None

        return wait_for(f"{message} is {wanted}", look)

    def effects(self):
        """How often each fact took effect: accepted calls by key of the event."""
        rows = self.store.query("SELECT m.idempotency_key, count(*) FROM postrider.attempt a JOIN postrider.delivery d ON d.id = a.delivery"
                                " JOIN postrider.message m ON m.id = d.message WHERE a.outcome = 1 GROUP BY m.idempotency_key")
        return dict(rows)

    def test_every_change_is_one_event_under_its_own_key(self):
        engine = self.start()
        told = [self.book(), self.book(18), self.lessons.cancel_booking(17, CANCELLED), self.lessons.complete_booking(18, COMPLETED),
                self.lessons.save_week(7, WEEK, SLOTS), self.lessons.copy_week(7, WEEK, NEXT_WEEK)]
        keys = [key for _, key in told]
        self.assertEqual(keys[:4], [f"booking:17:booking.created:{CREATED}", f"booking:18:booking.created:{CREATED}",
                                    f"booking:17:booking.cancelled:{CANCELLED}", f"booking:18:booking.completed:{COMPLETED}"])
        self.assertRegex(keys[4], r"^avail:7:2026-03-09:availability\.week_saved:[0-9a-f]{12}$")
        self.assertRegex(keys[5], r"^avail:7:2026-03-16:availability\.week_copied:[0-9a-f]{12}$")
        self.wait_settled()
        self.assertEqual(self.effects(), dict.fromkeys(keys, 1))
        for message, key in told:
            found = self.delivery(engine, message, state="delivered")
            self.assertTrue(found["key"].startswith(key + ":email:"), found["key"])
        self.assertEqual(self.delivery(engine, told[0][0])["body"], "Dear Sam,\nyour lesson 17 with Ines is booked: 9 March 2026, 17:00.")
        self.assertEqual(self.delivery(engine, told[4][0])["body"], "Dear Ines,\nyou are free at:\n* Mon 09:00\n* Tue 10:00\n")

    def test_what_is_rolled_back_was_never_told(self):
        engine = self.start()
        with self.assertRaises(IndexError):
            self.lessons.copy_week(7, WEEK, NEXT_WEEK)  # there is nothing to copy
        with self.assertRaises(ZeroDivisionError), self.lessons.transaction() as run:
            run("INSERT INTO lesson VALUES (17, 7, 'Sam', 'sam@example.org', ?, 'booked', ?, NULL, NULL)", COMPLETED, CREATED)
            message, _ = self.lessons.tell_booking(run, 17, "booking.created", "created_at")
            raise ZeroDivisionError
        kept, _ = self.book(18)
        self.delivery(engine, kept, state="delivered")
        self.assertEqual(engine.request("GET", f"/api/v1/notifications/{message}")[0], 404)
        self.assertEqual(self.store.query("SELECT id FROM lesson"), [(18,)])

    def test_the_same_fact_again_is_ignored(self):
        engine = self.start()
        first, key = self.book()
        again = [self.book() for _ in range(3)]
        self.assertEqual({each for _, each in again}, {key})
        saved, week = self.lessons.save_week(7, WEEK, SLOTS)
        self.assertEqual(self.lessons.save_week(7, WEEK, list(reversed(SLOTS)))[1], week, "the order says nothing")
        changed = self.lessons.save_week(7, WEEK, ["Wed 11:00"])[1]
        self.assertNotEqual(changed, week)
        self.wait_settled()
        self.assertEqual(self.effects(), {key: 1, week: 1, changed: 1})
        for message, _ in again:
            answer = self.notification(engine, message)
            self.assertEqual((answer["state"], answer["detail"]), ("duplicate", first))

    def test_many_at_once_tell_one_fact_once(self):
        engine = self.start()
        self.book()

        def cancel():
            connection = self.store.connect()
            Lessons(connection).cancel_booking(17, CANCELLED)
            connection.close()

        threads = [threading.Thread(target=cancel) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.wait_settled()
        self.assertEqual(self.effects(), {f"booking:17:booking.created:{CREATED}": 1, f"booking:17:booking.cancelled:{CANCELLED}": 1})
        listed = engine.request("GET", "/api/v1/notifications?type=booking.cancelled")[1]["notifications"]
        self.assertEqual(sorted(each["state"] for each in listed), ["delivered"] + ["duplicate"] * 7)

    def test_the_ladder_to_its_end(self):
        engine = self.start(environment=raise_on("booking.created"))
        message, _ = self.book()
        for attempt, seconds in enumerate(LADDER, 1):
            found = self.delivery(engine, message, state="retrying", attempt_count=attempt)
            wait = (moment(found["due_at"]) - moment(found["attempts"][-1]["ended_at"])).total_seconds()
            self.assertAlmostEqual(wait, seconds, delta=5)
            if attempt == 2:  # a crash forgets neither the count nor the time
                engine.kill()
                engine = self.start(environment=raise_on("booking.created"))
                self.assertEqual(self.delivery(engine, message, attempt_count=2)["due_at"], found["due_at"])
            self.assertEqual(engine.request("POST", "/api/v1/dispatch", {"why": "dispatch_pending"})[0], 200)
        found = self.delivery(engine, message, state="parked")
        self.assertEqual((found["attempt_count"], found["reason"]["code"]), (len(LADDER) + 1, "retries_used_up"))
        self.assertEqual(self.effects(), {})

    def test_a_shorter_ladder_by_configuration(self):
        self.configure(extra=FAST)
        engine = self.start(environment=raise_on("booking.created"))
        attempts = self.delivery(engine, self.book()[0], state="parked")["attempts"]
        self.assertEqual([a["reason"]["code"] for a in attempts], ["shim_failure"] * 6)
        waits = [(moment(after["started_at"]) - moment(before["ended_at"])).total_seconds() for before, after in zip(attempts, attempts[1:])]
        for wait, least in zip(waits, [0.02, 0.04, 0.06, 0.08, 0.1]):
            self.assertGreaterEqual(wait, least)

    def test_failures_of_one_type_or_one_key_and_their_end(self):
        key = f"booking:18:booking.created:{CREATED}"
        engine = self.start(environment=raise_on("booking.cancelled", key))
        good, (failing, _) = self.book(17)[0], self.book(18)
        cancelled, _ = self.lessons.cancel_booking(17, CANCELLED)
        self.delivery(engine, good, state="delivered")
        for message in (failing, cancelled):
            self.delivery(engine, message, state="retrying", attempt_count=1)
        engine.stop()
        engine = self.start()
        engine.request("POST", "/api/v1/dispatch")
        for message in (failing, cancelled):
            self.delivery(engine, message, state="delivered", attempt_count=2)
        self.assertEqual(sorted(self.effects().values()), [1, 1, 1])

    def test_failures_of_a_message_by_the_key_that_its_producer_gave_it(self):
        # Whatever the key looks like: nothing in the delivery's own key is like it.
        engine = self.start(environment=raise_on("week-7-first"))
        fact = {"type": "availability.week_saved", "payload": {"instructorName": "Ines", "instructorEmail": "ines@example.org",
                                                               "weekStart": WEEK, "slots": SLOTS}}
        told = {key: engine.request("POST", "/api/v1/messages", {**fact, "idempotency_key": key})[1]["id"]
                for key in ("week-7-first", "week-7-second")}
        self.delivery(engine, told["week-7-second"], state="delivered", attempt_count=1)
        found = self.delivery(engine, told["week-7-first"], state="retrying", attempt_count=1)
        self.assertEqual(found["attempts"][0]["reason"]["code"], "shim_failure")
        engine.stop()
        engine = self.start()
        engine.request("POST", "/api/v1/dispatch")
        found = self.delivery(engine, told["week-7-first"], state="delivered", attempt_count=2)
        self.assertIn("Mon 09:00", found["body"])

    def test_a_real_provider_gets_the_same_token_each_time(self):
        # Mail instead of the shim, by configuration alone. The server takes each first mail and hangs up: nobody knows, so it is repeated.
        tokens = []

        def hang_up_once(mail):
            tokens.append(mail["message"]["Message-ID"])
            return "250 queued" if tokens.count(tokens[-1]) > 1 else None

        server = harness.MailServer(answer=hang_up_once)
        self.addCleanup(server.close)
        self.configure(MAIL.format(server.settings()), FAST)
        engine = self.start()
        told = [self.book(booking) for booking in range(17, 22)]
        for message, _ in told:
            found = self.delivery(engine, message, state="delivered")
            self.assertEqual(([a["outcome"] for a in found["attempts"]], found["possible_duplicate"]), (["unclear", "accepted"], True))
        self.assertEqual((len(tokens), len(set(tokens))), (10, 5), "one token for each fact: the receiver can keep one")
        self.assertEqual(self.effects(), {key: 1 for _, key in told})

    def test_the_numbers(self):
        self.configure(extra=FAST)
        engine = self.start(environment=raise_on("booking.cancelled"))
        self.book(17), self.book(18)
        cancelled, _ = self.lessons.cancel_booking(17, CANCELLED)
        self.delivery(engine, cancelled, state="parked")
        self.wait_settled()
        family = r"(?m)^instainstru_notifications_{}(\{{.*\}})? (\S+)$"

        def total(name, *labels):
            found = re.findall(family.format(name), page)
            return sum(float(value) for names, value in found if all(label in names for label in labels))

        def look():  # counts are told a moment after they are made
            status, text = engine.request("GET", "/ops/metrics-lite")
            self.assertEqual(status, 200)
            return text.decode() if re.search('outbox_total.*status="failed"', text.decode()) else None

        page = wait_for("the numbers", look)
        created, dropped = 'event_type="booking.created"', 'event_type="booking.cancelled"'
        self.assertEqual((total("outbox_attempt_total", created), total("outbox_attempt_total", dropped)), (2, 6))
        self.assertEqual((total("outbox_total", 'status="sent"', created), total("outbox_total", 'status="failed"', dropped)), (2, 1))
        self.assertEqual((total("outbox_total", 'status="failed"', created), total("delivery_errors_total")), (0, 6))
        self.assertEqual((total("dispatch_seconds_count", created), total("dispatch_seconds_count", dropped)), (2, 6))
        self.assertEqual(total("dispatch_seconds_bucket", created, 'le="+Inf"'), 2)


class OnSqlite(Acceptance, harness.Case):
    store_kind = harness.Sqlite


class OnPostgres(Acceptance, harness.Case):
    store_kind = harness.Postgres

    def test_two_workers_have_one_effect_per_key(self):
        engine, other = self.start(), self.start()
        keys = [self.book(booking)[1] for booking in range(100, 140)]
        for booking in range(100, 140):
            self.book(booking)
        wait_for("some are sent", lambda: len(self.effects()) > 5)
        other.kill()
        self.wait_settled()
        self.assertEqual(self.effects(), dict.fromkeys(keys, 1))
        engine.stop()


if __name__ == "__main__":
    sys.exit(harness.main())
