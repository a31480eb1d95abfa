#!/usr/bin/python3
"""Records of the application's own database: in the text, as a reason to fail or to cancel, after a failure, for many at once.

On PostgreSQL the application's table is in the database of the store; on SQLite it is in a file of its own.
"""
import sys
import time
import unittest

import harness
from harness import wait_for

MANY = 300
QUESTIONS_MAX = 10  # for MANY: work is taken up to 100 at a time, and the first is taken before the last has come

ROUTE = """
[[routes]]
type = "{type}"
recipients = {{ email = "email" }}
[routes.context]
query = "{query}"
[routes.cancel_when]
field = "status"
in = ["Cancelled", "Expired"]
[[templates]]
key = "{type}"
type = "{type}"
channel = "email"
subject = "Booking"
body = "{{{{guest}}}} in {{{{room}}}}, {{{{nights}}}} nights, {{{{note}}}} {{{{asked}}}}"
"""

ONE = "SELECT guest, email, room, nights, status FROM booking WHERE id = :entity_id AND hotel = :tenant"


class Records:
    policy = 'preset = "booking"'

    def setUp(self):
        super().setUp()
        self.make_application()
        self.run_sql("CREATE TABLE booking (id integer PRIMARY KEY, hotel text, guest text, email text, room text, nights integer, status text)")
        self.run_sql("INSERT INTO booking VALUES (1, 'default', 'Asha', 'asha@example.org', '12 & 13', 3, 'Confirmed'),"
                     " (2, 'default', 'Bo', 'bo@example.org', '7', 1, 'cancelled'), (3, 'elsewhere', 'Cy', 'cy@example.org', '9', 2, 'Confirmed')")
        self.configure(extra=f"""
[[tenants]]
name = "default"
channels = {{ email = ["box"] }}
[providers.box]
type = "sandbox"
channel = "email"
[databases.app]
url = "{self.application_url}"
timeout = "1s"
{ROUTE.format(type="booking.confirmed", query=ONE)}
{ROUTE.format(type="booking.listed", query=self.many)}
{ROUTE.format(type="booking.moved", query="UPDATE booking SET room = :payload.room WHERE id = :entity_id RETURNING guest, email")}
{ROUTE.format(type="booking.twice", query="SELECT guest, email FROM booking WHERE id >= :entity_id")}
{ROUTE.format(type="booking.slow", query=self.slow)}
""")

    def send_about(self, engine, entity, type="booking.confirmed", **payload):
        return self.send(engine, type=type, entity_id=str(entity), payload={"note": "from the event", "room": "old", **payload})

    def wait_state(self, engine, message, *states):
        def look():
            status, answer = engine.request("GET", f"/api/v1/notifications/{message}")
            return answer if status == 200 and answer["state"] in states else None

        return wait_for(f"{message} is {states}", look)

    def bodies(self, engine):
        status, answer = engine.request("GET", "/api/v1/sandbox/messages?limit=200")
        self.assertEqual(status, 200, answer)
        return [item["body"] for item in answer["messages"]]

    def test_the_records_columns_are_in_the_text_before_the_payloads(self):
        engine = self.start()
        message = self.send_about(engine, 1)
        self.wait_state(engine, message, "expanded")
        self.wait_settled()
        self.assertEqual(self.bodies(engine), ["Asha in 12 & 13, 3 nights, from the event "])
        # The record is read when the message is: a change before it counts.
        self.run_sql("UPDATE booking SET nights = 4 WHERE id = 1")
        self.send_about(engine, 1, version="2")  # the version is in the payload only: the same fact again
        self.wait_settled()
        self.assertEqual(len(self.bodies(engine)), 1)

    def test_no_record_of_this_tenant_is_missing_data(self):
        engine = self.start()
        for entity in [99, 3]:
            answer = self.wait_state(engine, self.send_about(engine, entity), "failed")
            self.assertEqual((answer["reason"]["code"], answer["detail"]), ("missing_data", f'no record of "{entity}"'))
        self.assertEqual(self.bodies(engine), [])

    def test_a_record_that_is_cancelled_cancels(self):
        engine = self.start()
        answer = self.wait_state(engine, self.send_about(engine, 2), "cancelled")
        self.assertEqual((answer["reason"]["code"], answer["detail"]), ("cancelled_by_condition", "status is cancelled"))
        self.assertEqual(self.bodies(engine), [])

    def test_a_record_without_an_address_fails_and_is_sent_by_a_replay_once_it_has_one(self):
        engine = self.start()
        self.run_sql("UPDATE booking SET email = NULL WHERE id = 1")
        message = self.send_about(engine, 1)
        answer = self.wait_state(engine, message, "failed")
        self.assertEqual((answer["reason"]["code"], answer["detail"]), ("no_recipient", "no email address"))
        self.run_sql("UPDATE booking SET email = 'asha@example.org' WHERE id = 1")
        self.assertEqual(engine.request("POST", f"/api/v1/notifications/{message}/replay", {"why": "the guest has told it"})[0], 200)
        wait_for("it is sent", lambda: self.bodies(engine) == ["Asha in 12 & 13, 3 nights, from the event "])

    def test_what_is_told_again_is_written_with_the_record_as_it_is_now(self):
        engine = self.start()
        first = self.send_about(engine, 1)
        self.wait_state(engine, first, "expanded")
        self.wait_settled()
        before = engine.request("GET", "/api/communication-logs?bookingId=1")[1]
        self.run_sql("UPDATE booking SET room = '14' WHERE id = 1")
        again = {"channel": "Email", "requestId": "r-1"}
        status, answer = engine.request("POST", "/api/bookings/1/resend-notification", again)
        self.assertEqual(status, 202, answer)
        self.assertEqual(self.wait_state(engine, answer["id"], "expanded")["reason"]["code"], "resent_by_operator")
        self.wait_settled()
        self.assertEqual(self.bodies(engine)[0], "Asha in 14, 3 nights, from the event ")
        logs = engine.request("GET", "/api/communication-logs?bookingId=1")[1]
        self.assertEqual((logs[0]["idempotencyKey"], logs[0]["status"]), ("manual:1:email:booking.confirmed:r-1", "Sent"))
        self.assertEqual(logs[1:], before)
        self.assertEqual(engine.request("POST", "/api/bookings/1/resend-notification", again)[0], 200)
        self.run_sql("UPDATE booking SET status = 'Cancelled' WHERE id = 1")
        status, answer = engine.request("POST", "/api/bookings/1/resend-notification", {"channel": "Email"})
        self.assertEqual(status, 202, answer)
        self.wait_state(engine, answer["id"], "cancelled")
        self.assertEqual(len(self.bodies(engine)), 2)

    def test_what_waits_to_be_looked_up_is_cancelled_with_its_entity(self):
        engine = self.start()
        message = self.send_about(engine, 1, type="booking.slow")
        self.wait_state(engine, message, "expanding")
        status, answer = engine.request("POST", "/api/v1/entities/1/cancel", {"reason": "called off"})
        self.assertEqual((status, answer["messages"], answer["not_cancelled"]), (200, 1, []))
        answer = self.wait_state(engine, message, "cancelled")
        self.assertEqual((answer["reason"]["code"], answer["detail"]), ("cancelled_with_entity", "called off"))
        self.assertEqual(engine.request("GET", "/ops/outbox?status=Published")[1][0]["id"], message)

    def test_two_records_end_it_with_that_reason(self):
        engine = self.start()
        answer = self.wait_state(engine, self.send_about(engine, 1, type="booking.twice"), "failed")
        self.assertEqual((answer["reason"]["code"], answer["detail"]), ("context_ambiguous", 'more than one record of "1"'))

    def test_a_query_that_writes_ends_it_and_writes_nothing(self):
        engine = self.start()
        answer = self.wait_state(engine, self.send_about(engine, 1, type="booking.moved", room="new"), "failed")
        self.assertEqual(answer["reason"]["code"], "context_failed")
        self.assertRegex(answer["detail"], 'database "app": .*(read-only|only reading)')
        self.assertEqual(self.rows("SELECT room FROM booking WHERE id = 1"), [("12 & 13",)])

    def test_a_failure_that_may_pass_waits_and_later_succeeds(self):
        self.run_sql("ALTER TABLE booking RENAME TO booking_away")
        engine = self.start()
        message = self.send_about(engine, 1)

        def waiting():
            _, answer = engine.request("GET", f"/api/v1/notifications/{message}")
            return answer if answer.get("attempt_count") == 1 and answer.get("next_attempt_at") else None

        answer = wait_for("it waits", waiting)
        self.assertEqual((answer["status"], answer["reason"]["code"]), ("pending", "context_failed"))
        self.assertIn("booking", answer["detail"])
        told = self.command("explain", message).stdout
        self.assertIn("Turning it into deliveries failed once: asking the application's database failed", told)
        self.assertIn("It is tried again at 20", told)
        # Others go on, and so does another record of the same kind once the table is back.
        self.run_sql("ALTER TABLE booking_away RENAME TO booking")
        self.come_due()
        answer = self.wait_state(engine, message, "expanded")
        self.wait_settled()
        self.assertEqual(self.bodies(engine), ["Asha in 12 & 13, 3 nights, from the event "])

    def test_a_query_that_takes_too_long_holds_up_nobody_else(self):
        engine = self.start()
        for entity in range(5):
            self.send_about(engine, entity, type="booking.slow")
        message = self.send(engine)  # no record needed: a plain event to the webhook
        wait_for("the other is sent", lambda: message in self.provider.effects(), seconds=3)
        # Heartbeats and looks for work come and go; what a query takes is spent outside of every transaction of the store.
        looks = [time.sleep(0.05) or self.store.has_open_transaction() for _ in range(20)]
        self.assertLess(sum(looks), 10, looks)
        wait_for("a slow one waits", lambda: self.store.query("SELECT count(*) FROM postrider.deferred")[0][0] >= 1)

    def test_many_messages_need_few_questions(self):
        self.run_sql("INSERT INTO booking VALUES " + ", ".join(
            f"({1000 + i}, 'default', 'G{i}', 'g{i}@example.org', '{i}', 2, 'Confirmed')" for i in range(MANY)))
        engine = self.start()
        status, answer = engine.request("POST", "/api/v1/messages", [
            {"type": "booking.listed", "entity_id": str(1000 + i), "payload": {"note": "n"}} for i in range(MANY)])
        self.assertEqual(status, 202, answer)
        wait_for("all are delivered", lambda: self.store.query("SELECT count(*) FROM postrider.delivery")[0][0] == MANY)
        bodies = [row[0] for row in self.store.query("SELECT body FROM postrider.delivery")]
        self.assertEqual({body.rsplit(" ", 1)[0] for body in bodies}, {f"G{i} in {i}, 2 nights, n" for i in range(MANY)})
        questions = {body.rsplit(" ", 1)[1] for body in bodies}
        self.assertLessEqual(len(questions), QUESTIONS_MAX)
        self.assertNotIn("", questions)

    def test_the_doctor_asks_every_database(self):
        self.start().stop()
        if self.store.name == "sqlite":  # PostgreSQL tells that a query writes only when it runs
            self.assertRegex(self.command("doctor", code=1).stdout, "(?m)^WRONG +database app +only reading is allowed")
        else:
            self.assertRegex(self.command("doctor").stdout, "(?m)^good +database app +answers, and takes the queries of 5 routes")
        self.run_sql("DROP TABLE booking")
        self.assertRegex(self.command("doctor", code=1).stdout, "(?m)^WRONG +database app .*booking")


class SqliteRecords(harness.SqliteApplication, Records, harness.Case):
    store_kind = harness.Sqlite
    many = ("SELECT id AS entity_id, guest, email, room, nights, status, (SELECT hex(randomblob(8))) AS asked FROM booking "
            "WHERE id IN (SELECT value FROM json_each(:entity_ids))")
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS guest FROM n"

    def come_due(self):
        connection = self.store.connect()
        connection.execute("UPDATE postrider_deferred SET due_at = 1")
        connection.close()


class PostgresRecords(harness.PostgresApplication, Records, harness.Case):
    store_kind = harness.Postgres
    many = ("SELECT id AS entity_id, guest, email, room, nights, status, (SELECT md5(random()::text)) AS asked FROM booking "
            "WHERE id = ANY(:entity_ids)")
    slow = "SELECT pg_sleep(30)::text AS guest"

    def come_due(self):
        self.run_sql("UPDATE postrider.deferred SET due_at = 1")


if __name__ == "__main__":
    sys.exit(harness.main())
