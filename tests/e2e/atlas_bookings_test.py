#!/usr/bin/python3
"""examples/atlas-bookings, judged by the acceptance list of a booking system: one send per fact, retries that end, tenants apart, resends that
are seen, placeholders, numbers as they were given, and nothing about a booking that is cancelled.

Mail goes to a real SMTP server, which keeps its own ledger; WhatsApp goes to the shim, SMS to the sandbox.
"""
import datetime
import json
import os
import sys

import harness
from harness import wait_for

sys.path.insert(0, os.path.join(harness.ROOT, "examples"))
sys.path.insert(0, os.path.join(harness.ROOT, "examples/atlas-bookings"))

import scenario  # noqa: E402
from atlas import Atlas  # noqa: E402
from scenario import moment  # noqa: E402

SCENARIO = scenario.Scenario(os.path.join(harness.ROOT, "examples/atlas-bookings"), "atlas.toml", "ATLAS_DATABASE",
                             {"seaside": "templates/seaside", "hills": "templates/hills"})
PROVIDERS = """
[channels]
whatsapp = ["whatsapp"]
sms = ["sms"]
email = ["mail"]
[providers.whatsapp]
type = "shim"
channel = "whatsapp"
[providers.sms]
type = "sandbox"
channel = "sms"
[providers.mail]
{mail}
"""
LIVE = ("pending", "retrying")
FAILING = {"POSTRIDER_FAIL_ON": "booking.confirmed"}
NUMBER = "+919876543210"


def in_days(count):
    return (datetime.date.today() + datetime.timedelta(days=count)).isoformat()


class Bookings(harness.Case):
    """Two tenants, each with a booking 12345 of its own."""

    store_kind = harness.Postgres

    def setUp(self):
        self.mail = harness.MailServer()
        self.addCleanup(self.mail.close)
        super().setUp()
        SCENARIO.prepare(self.home, self.store)
        self.seaside, self.hills = self.application("seaside"), self.application("hills")
        self.seaside.add_guest(678, "John Doe", NUMBER, "guest@example.com")
        self.seaside.add_listing(10, "Cozy Studio")
        self.seaside.book(12345, 678, 10, "2026-03-15", "2026-03-17")
        self.hills.add_guest(1, "Meera Rao", "+918887776665", "meera@example.com")
        self.hills.add_listing(1, "Pine House")
        self.hills.book(12345, 1, 1, "2026-04-01", "2026-04-03")

    def configure(self, extra=""):
        SCENARIO.configure(self.home, PROVIDERS.format(mail=self.mail.settings()), extra)

    def application(self, tenant):
        connection = self.store.connect()
        self.addCleanup(connection.close)
        return Atlas(connection, tenant)

    def key(self, role, tenant=None):
        """Made before an engine starts, it is known at once."""
        return scenario.run(self.home, "keys", "create", role, "--role", role, *(["--tenant", tenant] if tenant else []))

    def ask(self, engine, method, path, body=None, key=None, code=200):
        status, answer = engine.request(method, path, body, key=key)
        self.assertEqual(status, code, answer)
        return answer

    def ended(self, engine, message, key=None):
        """What became of it, when nothing of it waits any more."""
        def look():
            status, answer = engine.request("GET", f"/api/v1/notifications/{message}", key=key)
            return answer if status == 200 and answer["status"] not in LIVE else None

        return wait_for(f"{message} ends", look)

    def delivery(self, engine, message, channel, **wanted):
        """The message's delivery on a channel, when it is as it should be."""
        def look():
            status, answer = engine.request("GET", f"/api/v1/notifications/{message}")
            for each in answer["deliveries"] if status == 200 else []:
                if each["channel"] == channel and all(each[name] == value for name, value in wanted.items()):
                    return each
            return None

        return wait_for(f"{channel} of {message} is {wanted}", look)

    def waiting(self, engine, message):
        return self.delivery(engine, message, "sms", state="retrying")

    def calls(self):
        """How often each delivery's provider was called, by the deliveries' keys."""
        return dict(self.store.query("SELECT d.key, count(*) FROM postrider.attempt a JOIN postrider.delivery d ON d.id = a.delivery GROUP BY d.key"))

    def numbers(self, tenant="seaside"):
        """The templates' numbers, which stand in keys."""
        rows = json.loads(scenario.run(self.home, "--json", "templates", "list", "--tenant", tenant))
        return {(each["key"], each["channel"]): each["id"] for each in rows if each["tenant"] == tenant}


class Acceptance(Bookings):
    def test_a_confirmation_is_one_transaction_with_its_outbox_row(self):
        engine = self.start()
        undone = self.seaside.confirm(12345, commit=False)
        self.assertEqual(self.seaside.status(12345), "Pending")
        confirmed, _ = self.seaside.confirm(12345)
        self.assertEqual(self.seaside.status(12345), "Confirmed")
        found = self.ended(engine, confirmed)
        self.assertEqual(sorted((d["channel"], d["state"]) for d in found["deliveries"]),
                         [("email", "delivered"), ("sms", "delivered"), ("whatsapp", "delivered")])
        for message in undone:
            self.assertEqual(engine.request("GET", f"/api/v1/notifications/{message}")[0], 404)
        self.assertEqual(len(self.mail.mails), 1)

    def test_no_duplicate_sends_on_double_confirm(self):
        engine, _ = self.start(), self.start()  # two workers on one database
        first, _ = self.seaside.confirm(12345)
        second, _ = self.application("seaside").confirm(12345)
        states = sorted(self.ended(engine, message)["state"] for message in (first, second))
        self.assertEqual(states, ["duplicate", "expanded"])
        numbers = self.numbers()
        keys = [f"12345:booking.confirmed:{channel}:{numbers['confirmed', channel]}" for channel in ("email", "sms", "whatsapp")]
        calls = {key: count for key, count in self.calls().items() if "confirmed" in key}
        self.assertEqual(calls, dict.fromkeys(keys, 1))
        self.assertEqual([mail["to"] for mail in self.mail.mails], [["guest@example.com"]])

    def test_confirmed_cancelled_and_confirmed_again_is_told_again(self):
        engine = self.start()
        first, _ = self.seaside.confirm(12345)
        self.ended(engine, first)
        self.seaside.cancel(12345)
        again, _ = self.seaside.confirm(12345)
        found = self.ended(engine, again)
        self.assertEqual((found["version"], found["status"]), ("2", "delivered"))
        self.assertEqual(len(self.mail.mails), 2)

    def test_retries_and_final_failure(self):
        engine = self.start(environment=FAILING)
        message, _ = self.seaside.confirm(12345)
        for attempt, minutes in enumerate([1, 2, 4, 8], 1):
            found = self.delivery(engine, message, "whatsapp", state="retrying", attempt_count=attempt)
            wait = (moment(found["due_at"]) - moment(found["attempts"][-1]["ended_at"])).total_seconds()
            self.assertAlmostEqual(wait, minutes * 60, delta=5)
            # Not due yet: nobody waits eight minutes here.
            self.ask(engine, "POST", f"/api/v1/notifications/{message}/dispatch", {"why": "the test does not wait"})
        found = self.delivery(engine, message, "whatsapp", state="parked")
        self.assertEqual((found["attempt_count"], found["reason"]["code"]), (5, "retries_used_up"))
        self.ask(engine, "POST", f"/api/v1/notifications/{message}/dispatch", code=409)
        engine.stop()
        # The cause is mended: nothing is sent by itself any more, only when a person says so; the other channels are not repeated.
        engine = self.start()
        self.assertEqual(self.delivery(engine, message, "whatsapp")["state"], "parked")
        self.ask(engine, "POST", f"/api/v1/notifications/{message}/retry", {"why": "WhatsApp works again"})
        self.assertEqual(self.ended(engine, message)["status"], "delivered")
        self.assertEqual(self.delivery(engine, message, "sms")["attempt_count"], 1)
        self.assertEqual(len(self.mail.mails), 1)

    def test_retries_come_by_themselves(self):
        self.configure(extra='[[policies]]\nchannel = "whatsapp"\npreset = "booking"\nbase = "50ms"\n')  # 50, 100, 200, 400 ms
        engine = self.start(environment=FAILING)
        message, _ = self.seaside.confirm(12345)
        attempts = self.delivery(engine, message, "whatsapp", state="parked")["attempts"]
        self.assertEqual([a["outcome"] for a in attempts], ["transient"] * 5)
        waits = [(moment(after["started_at"]) - moment(before["ended_at"])).total_seconds() for before, after in zip(attempts, attempts[1:])]
        for wait, least in zip(waits, [0.05, 0.1, 0.2, 0.4]):
            self.assertGreaterEqual(wait, least)

    def test_a_permanent_failure_is_not_repeated(self):
        self.mail.refuse = lambda address: "550 5.1.1 no such user"
        engine = self.start()
        message, _ = self.seaside.confirm(12345)
        found = self.delivery(engine, message, "email", state="parked")
        self.assertEqual((found["attempt_count"], found["reason"]["code"]), (1, "invalid_recipient"))

    def test_tenant_isolation(self):
        hills, ops = self.key("admin", "hills"), self.key("ops")
        engine = self.start()
        ours, _ = self.seaside.confirm(12345)
        theirs, _ = self.hills.confirm(12345)
        nobody = self.application("elsewhere")
        unknown = nobody.record("booking.confirmed", 12345)
        nobody.connection.commit()
        found = self.ended(engine, ours)
        self.assertEqual({d["recipient"] for d in found["deliveries"]}, {NUMBER, "guest@example.com"})
        self.assertNotIn("Meera", json.dumps(found))
        other = self.ended(engine, theirs, hills)
        self.assertEqual([(d["channel"], d["recipient"], d["body"]) for d in other["deliveries"]],
                         [("sms", "+918887776665", "The hills await you, Meera Rao: Pine House, 01-Apr-2026.")])
        self.assertEqual(engine.request("GET", f"/api/v1/notifications/{theirs}")[0], 404)
        self.assertEqual(engine.request("GET", f"/api/v1/notifications/{ours}", key=hills)[0], 404)
        refused = self.ended(engine, unknown, ops)
        self.assertEqual((refused["state"], refused["reason"]["code"], refused["deliveries"]), ("failed", "unknown_tenant", []))

    def test_placeholder_resolution(self):
        hills = self.key("admin", "hills")
        body = "{{guestPhone}} {{GUESTNAME}} {{checkinDate}} {{bookingId}} {{guestId}} {{listingId}} {{bookingStatus}} [{{nothing}}]"
        engine = self.start()
        for key, kept in [(None, "[]"), (hills, "[{{nothing}}]")]:
            template, = self.ask(engine, "GET", "/api/message-templates?eventType=booking.confirmed&channel=SMS", key=key)
            saved = self.ask(engine, "PUT", f"/api/message-templates/{template['id']}", {"body": body, "language": "en-IN"}, key)
            self.assertIn("nothing", json.dumps(saved["warnings"]))
            atlas = self.hills if key else self.seaside
            message, _ = atlas.confirm(12345)
            sms = next(d for d in self.ended(engine, message, key)["deliveries"] if d["channel"] == "sms")
            expected = ("+918887776665 Meera Rao 01-Apr-2026 12345 1 1 Confirmed " if key else
                        f"{NUMBER} John Doe 15-Mar-2026 12345 678 10 Confirmed ")
            self.assertEqual(sms["body"], expected + kept)
            self.assertEqual(sms["state"], "delivered", "a missing value fails nothing")
            self.assertIn("nothing", sms["warnings"])
            self.assertEqual(sms["template_version"], 2)

    def test_indian_numbers_are_kept_as_given(self):
        engine = self.start()
        message, _ = self.seaside.confirm(12345)
        found = self.ended(engine, message)
        phones = {d["channel"]: d["recipient"] for d in found["deliveries"] if d["channel"] != "email"}
        self.assertEqual(phones, {"whatsapp": NUMBER, "sms": NUMBER})
        sandbox = self.ask(engine, "GET", "/api/v1/sandbox/messages")["messages"]
        self.assertEqual({each["recipient"] for each in sandbox if each["channel"] != "email"}, {NUMBER})
        self.assertIn(f"We will write to {NUMBER}.", self.delivery(engine, message, "whatsapp")["body"])

    def test_missing_data_and_no_recipient_are_two_things(self):
        engine = self.start()
        gone = self.seaside.record("booking.confirmed", 404)
        self.seaside.connection.commit()
        found = self.ended(engine, gone)
        self.assertEqual((found["state"], found["reason"]["words"]), ("failed", "Missing data"))
        self.seaside.add_guest(679, "No Phone", None, "nophone@example.com")
        self.seaside.book(2, 679, 10, "2026-03-15", "2026-03-17")
        message, _ = self.seaside.confirm(2)
        found = {d["channel"]: (d["state"], d["reason"]["code"]) for d in self.ended(engine, message)["deliveries"]}
        self.assertEqual(found["email"][0], "delivered")
        self.assertEqual((found["sms"], found["whatsapp"]), (("suppressed", "no_recipient"),) * 2)

    def test_a_template_that_is_missing_and_a_safe_replay(self):
        hills = self.key("admin", "hills")
        engine = self.start()
        _, reminder = self.hills.confirm(12345)  # the hills have no words for a reminder
        found = self.ended(engine, reminder, hills)
        self.assertEqual((found["state"], found["reason"]["words"]), ("failed", "Template not found"))
        self.ask(engine, "POST", "/api/message-templates", {"eventType": "booking.reminder", "channel": "SMS", "language": "en-IN",
                                                            "body": "Tomorrow, {{guestName}}!"}, hills, 201)
        path = f"/api/v1/notifications/{reminder}/replay"
        self.ask(engine, "POST", path, {"why": "there is a template now"}, hills)
        found = wait_for("it is sent", lambda: (lambda n: n if n["status"] == "delivered" else None)(
            engine.request("GET", f"/api/v1/notifications/{reminder}", key=hills)[1]))
        self.assertEqual([d["body"] for d in found["deliveries"]], ["Tomorrow, Meera Rao!"])
        self.ask(engine, "POST", path, {"why": "by mistake"}, hills, 409)
        self.assertEqual([count for key, count in self.calls().items() if "reminder" in key], [1])


class Cancelled(Bookings):
    """What waits about a booking that is cancelled."""

    def setUp(self):
        super().setUp()
        self.seaside.book(500, 678, 10, in_days(30), in_days(33))

    def test_what_the_engine_has_not_seen_yet_is_cancelled_by_the_record(self):
        confirmed, reminder = self.seaside.confirm(500)
        self.seaside.cancel(500)  # while no engine runs
        engine = self.start()
        for message in (confirmed, reminder):
            found = self.ended(engine, message)
            self.assertEqual((found["state"], found["reason"]["code"], found["detail"]),
                             ("cancelled", "cancelled_by_condition", "bookingStatus is Cancelled"))
        self.assertEqual((self.calls(), self.mail.mails), ({}, []))

    def test_a_reminder_waits_until_a_day_before(self):
        engine = self.start()
        _, reminder = self.seaside.confirm(500)
        found = self.waiting(engine, reminder)
        # Midnight of the day in Kolkata, less a day.
        self.assertEqual(moment(found["due_at"]), moment(in_days(29) + "T00:00:00+05:30"))
        self.assertEqual((found["reason"]["code"], found["attempt_count"]), ("scheduled", 0))

    def test_the_record_is_read_again_when_its_time_comes(self):
        engine = self.start()
        _, reminder = self.seaside.confirm(500)
        self.waiting(engine, reminder)
        self.seaside.cancel(500)  # and nobody tells the engine
        self.ask(engine, "POST", f"/api/v1/notifications/{reminder}/dispatch", {"why": "the test does not wait for a month"})
        found = self.ended(engine, reminder)["deliveries"][0]
        self.assertEqual((found["state"], found["reason"]["code"], found["detail"]),
                         ("cancelled", "cancelled_by_condition", "bookingStatus is Cancelled"))
        self.assertEqual([key for key in self.calls() if "reminder" in key], [])

    def test_one_call_cancels_everything_that_waits(self):
        engine = self.start()
        _, reminder = self.seaside.confirm(500)
        self.waiting(engine, reminder)
        other = self.seaside.confirm(12345)[0]
        self.ended(engine, other)
        self.seaside.cancel(500)
        answer = self.ask(engine, "POST", "/api/v1/entities/500/cancel", {"reason": "the guest cancelled"})
        self.assertEqual(answer["changed"], 1)
        found = self.ended(engine, reminder)["deliveries"][0]
        self.assertEqual((found["state"], found["reason"]["code"], found["attempt_count"]), ("cancelled", "cancelled_with_entity", 0))
        self.assertIn(("the guest cancelled",), self.store.query("SELECT why FROM postrider.audit"))
        self.assertEqual(self.ended(engine, other)["status"], "delivered", "what is done stays done")


class Portal(Bookings):
    """The same in the words of the booking portal."""

    def logs(self, engine, booking, key=None, **wanted):
        rows = self.ask(engine, "GET", f"/api/communication-logs?bookingId={booking}", key=key)
        return [row for row in rows if all(row[name] == value for name, value in wanted.items())]

    def schedules(self, engine, booking, key=None, **wanted):
        rows = self.ask(engine, "GET", f"/api/automation-schedules?bookingId={booking}", key=key)
        return [row for row in rows if all(row[name] == value for name, value in wanted.items())]

    def test_the_communications_panel_shows_one_send_of_a_double_confirm(self):
        engine = self.start()
        messages = [self.seaside.confirm(12345)[0], self.seaside.confirm(12345)[0]]
        for message in messages:
            self.ended(engine, message)
        rows = self.logs(engine, 12345, eventType="booking.confirmed")
        self.assertEqual(sorted((row["channel"], row["status"], row["attemptCount"]) for row in rows),
                         [("Email", "Sent", 1), ("SMS", "Sent", 1), ("WhatsApp", "Sent", 1)])
        self.assertEqual({row["toAddress"] for row in rows}, {"+91•••3210", "g•••@example.com"}, "enough to know it by, and no more")
        self.assertEqual({row["sentAtUtc"] is None for row in rows}, {False})

    def test_the_schedule_of_a_failing_send(self):
        engine = self.start(environment=FAILING)
        message, _ = self.seaside.confirm(12345)
        found = self.delivery(engine, message, "whatsapp", state="retrying", attempt_count=1)
        row, = self.schedules(engine, 12345, eventType="booking.confirmed", status="Pending")
        self.assertEqual((row["attemptCount"], moment(row["dueAtUtc"])), (1, moment(found["due_at"])))
        self.assertIn("shim", row["lastError"])
        for attempt in range(1, 5):
            self.delivery(engine, message, "whatsapp", state="retrying", attempt_count=attempt)
            self.ask(engine, "POST", f"/api/v1/notifications/{message}/dispatch")
        self.ended(engine, message)
        row, = self.schedules(engine, 12345, eventType="booking.confirmed", status="Failed")
        self.assertEqual(row["attemptCount"], 5)
        log, = self.logs(engine, 12345, channel="WhatsApp")
        self.assertEqual((log["status"], log["attemptCount"]), ("Failed", 5))

    def test_manual_resend_logs_separately(self):
        viewer = self.key("viewer", "seaside")
        engine = self.start()
        message, _ = self.seaside.confirm(12345)
        self.ended(engine, message)
        number = self.numbers()["confirmed", "whatsapp"]
        original, = self.logs(engine, 12345, channel="WhatsApp")
        self.assertRegex(original["idempotencyKey"], rf"(?i)^12345:booking\.confirmed:whatsapp:{number}$")
        for count in (1, 2):
            self.ask(engine, "POST", "/api/bookings/12345/resend-notification", {"channel": "WhatsApp", "templateId": number}, code=202)
            rows = wait_for("it is sent", lambda: (lambda rows: rows if len(rows) == count + 1 else None)(
                self.logs(engine, 12345, channel="WhatsApp", status="Sent")))
            manual = [row for row in rows if row["idempotencyKey"].startswith("manual:")]
            self.assertEqual(len({row["idempotencyKey"] for row in manual}), count)
            for row in manual:
                self.assertRegex(row["idempotencyKey"], rf"(?i)^manual:12345:whatsapp:{number}:[0-9a-f]{{8}}-[0-9a-f-]{{27}}$")
            self.assertEqual([row for row in rows if row not in manual], [original], "the first one is untouched")
        self.assertEqual(engine.request("POST", "/api/bookings/12345/resend-notification", {"channel": "WhatsApp"}, key=viewer)[0], 403)

    def test_tenants_see_their_own_panels(self):
        hills, ops = self.key("admin", "hills"), self.key("ops")
        engine = self.start()
        ours, theirs = self.seaside.confirm(12345)[0], self.hills.confirm(12345)[0]
        self.ended(engine, ours), self.ended(engine, theirs, hills)
        self.assertEqual({row["messageId"] for row in self.logs(engine, 12345, eventType="booking.confirmed")}, {str(ours)})
        self.assertEqual([row["messageId"] for row in self.logs(engine, 12345, hills, eventType="booking.confirmed")], [str(theirs)])
        self.assertEqual(len(self.schedules(engine, 12345, hills, eventType="booking.confirmed")), 1)
        self.assertEqual({row["tenantId"] for row in self.ask(engine, "GET", "/ops/outbox", key=hills)}, {"hills"})
        self.assertEqual({row["tenantId"] for row in self.ask(engine, "GET", "/ops/outbox", key=ops)}, {"hills", "seaside"})

    def test_the_outbox_for_operators(self):
        ops = self.key("ops")
        engine = self.start()
        good, lost = self.seaside.confirm(12345)[0], self.seaside.record("booking.confirmed", 404)
        self.seaside.connection.commit()
        self.ended(engine, good), self.ended(engine, lost)
        row, = self.ask(engine, "GET", "/ops/outbox?status=Failed&tenantId=seaside", key=ops)
        self.assertEqual((row["id"], row["eventType"], row["entityId"], row["topic"]), (str(lost), "booking.confirmed", "404", "booking.events"))
        self.assertIn("Missing data", row["lastError"])
        published = self.ask(engine, "GET", "/ops/outbox?status=Published", key=ops)
        self.assertIn(str(good), [row["id"] for row in published])
        wait_for("nothing is pending", lambda: self.ask(engine, "GET", "/ops/outbox?status=Pending", key=ops) == [])


if __name__ == "__main__":
    sys.exit(harness.main())
