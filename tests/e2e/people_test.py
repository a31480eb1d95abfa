#!/usr/bin/python3
"""People the whole way on both stores: contacts, lists, preferences, suppressions, quiet hours, and files of them."""
import contextlib
import csv
import datetime
import io
import json
import os
import pty
import subprocess
import sys

import harness
from harness import wait_for

CONFIG = """
[providers.mail]
type = "sandbox"
channel = "email"
[providers.phone]
type = "sandbox"
channel = "sms"
[[tenants]]
name = "default"
locale = "en-GB"
locales = ["en-GB", "de-DE", "fr-FR"]
exempt_categories = ["security"]
[[routes]]
type = "booking.confirmed"
contact = "guest"
category = "receipts"
[[routes]]
type = "news"
list = "readers"
category = "marketing"
[[routes]]
type = "news.planned"
list = "readers"
schedule = { field = "day" }
[[templates]]
key = "planned-email"
type = "news.planned"
channel = "email"
subject = "News"
body = "Hello"
[[templates]]
key = "booking-email"
type = "booking.confirmed"
channel = "email"
subject = "Booking {{id}}"
body = "Dear {{contact.name}}, you stay in room {{contact.room}} for {{sum | currency:EUR}}."
[[templates]]
key = "booking-sms"
type = "booking.confirmed"
channel = "sms"
body = "Booking {{id}}"
[[templates]]
key = "news-email"
type = "news"
channel = "email"
subject = "News"
body = "Hello {{contact.name}}"
"""


class Configured(harness.Case):
    """Mail and text messages go to the sandbox."""

    def configure(self, extra="", provider=None, store_options=""):
        super().configure(CONFIG + extra, provider, store_options)
        path = os.path.join(self.home, "postrider.toml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('webhook = ["hook"]', 'email = ["mail"]\nsms = ["phone"]'))


class People:
    """What holds on every store."""

    def put(self, engine, path, body=None, code=(200, 201)):
        status, answer = engine.request("PUT", "/api/v1/" + path, {} if body is None else body)
        self.assertIn(status, code, answer)
        return answer

    def post(self, engine, path, body, code=200):
        status, answer = engine.request("POST", "/api/v1/" + path, body)
        self.assertEqual(status, code, answer)
        return answer

    def settled(self, engine, message, states=("delivered", "suppressed", "failed", "cancelled", "expired")):
        return wait_for("the message settles", lambda: (lambda n: n if n["status"] in states else None)(self.notification(engine, message)))

    def by_channel(self, notification):
        return {delivery["channel"]: delivery for delivery in notification["deliveries"]}

    def test_an_event_goes_to_the_contacts_addresses_in_its_language(self):
        engine = self.start()
        self.put(engine, "contacts/ada", {"name": "Ada", "locale": "de-DE", "attributes": {"room": 7},
                                          "addresses": {"email": "Ada@Example.org", "sms": "+919876543210"}})
        message = self.send(engine, type="booking.confirmed", entity_id="b-1", payload={"guest": "ada", "id": 4711, "sum": "1234.5"})
        found = self.by_channel(self.settled(engine, message))
        self.assertEqual(sorted(found), ["email", "sms"])
        self.assertEqual(found["sms"]["recipient"], "+919876543210")
        self.assertEqual(found["email"]["recipient"], "Ada@Example.org")
        self.assertEqual(found["email"]["locale"], "de-DE")
        self.assertEqual(found["email"]["body"], "Dear Ada, you stay in room 7 for 1.234,50\u00a0€.")
        self.assertEqual((found["email"]["contact"], found["email"]["category"], found["email"]["template_id"]), ("ada", "receipts", None))
        shown = json.loads(self.command("--json", "show", message).stdout)
        self.assertEqual(self.by_channel(shown)["email"]["locale"], "de-DE")
        draft = {"message": message, "template": {"key": "t", "channel": "sms", "texts": [{"locale": "de-DE", "body": "Hallo {{contact.name}}"},
                                                                                        {"locale": "en-GB", "body": "Hello"}]}}
        self.assertEqual(self.post(engine, "template-preview", draft)["body"], "Hallo Ada", "the contact that the route found")
        refused = self.post(engine, "template-preview", {**draft, "timezone": "Mars/Olympus"}, 400)
        self.assertEqual(refused["error"]["field"], "timezone")
        self.assertIn("ada", self.command("show", message).stdout)

    def test_a_contact_without_the_address_and_an_unknown_one(self):
        engine = self.start()
        self.put(engine, "contacts/ada", {"addresses": {"email": "ada@example.org"}})
        message = self.send(engine, type="booking.confirmed", payload={"guest": "ada"})
        found = self.by_channel(self.settled(engine, message))
        self.assertEqual(found["email"]["state"], "delivered")
        self.assertEqual((found["sms"]["state"], found["sms"]["reason"]["code"]), ("suppressed", "no_recipient"))
        self.assertEqual(found["sms"]["detail"], 'contact "ada" has no sms address')
        unknown = self.settled(engine, self.send(engine, type="booking.confirmed", payload={"guest": "nobody"}))
        self.assertEqual((unknown["state"], unknown["reason"]["code"], unknown["detail"]), ("failed", "unknown_contact", 'contact "nobody"'))
        self.put(engine, "contacts/nobody", {"addresses": {"email": "somebody@example.org"}})
        self.post(engine, f"notifications/{unknown['id']}/replay", {"why": "it is known now"})
        replayed = wait_for("the replay", lambda: self.by_channel(self.notification(engine, unknown["id"])).get("email"))
        self.assertEqual(replayed["recipient"], "somebody@example.org")

    def test_opt_outs_by_channel_and_category(self):
        engine = self.start()
        wishes = [{"channel": "sms", "allowed": False, "source": "the account page"}, {"category": "marketing", "allowed": False}]
        self.put(engine, "contacts/ada", {"addresses": {"email": "ada@example.org", "sms": "+919876543210"}, "preferences": wishes})
        found = self.by_channel(self.settled(engine, self.send(engine, type="booking.confirmed", payload={"guest": "ada"})))
        self.assertEqual(found["email"]["state"], "delivered")
        self.assertEqual((found["sms"]["state"], found["sms"]["reason"]["code"]), ("suppressed", "opted_out"))
        self.assertEqual(found["sms"]["detail"], 'contact "ada" opted out of sms (the account page)')

        def direct(channel, category):
            message = self.send(engine, type="note", channel=channel, contact="ada", category=category, body="x")
            return self.settled(engine, message)["deliveries"][0]

        refused = direct("email", "marketing")
        self.assertEqual((refused["state"], refused["detail"]),
                         ("suppressed", 'contact "ada" opted out of every channel for marketing (api)'))
        self.assertEqual(direct("email", "receipts")["state"], "delivered")
        self.assertEqual(direct("sms", "security")["state"], "delivered", "an exempt category passes a general wish")
        self.assertIn("opted out of every channel for marketing", self.command("explain", "--recipient", "ada@example.org").stdout)

    def test_a_suppressed_address_is_not_written_to(self):
        engine = self.start()
        later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        note = {"type": "note", "channel": "email", "recipient": "Ada@Example.org", "body": "x"}
        waiting = self.send(engine, **note, due_at=later)
        wait_for("it waits", lambda: self.notification(engine, waiting)["deliveries"])
        self.post(engine, "suppressions", {"channel": "email", "address": "Ada@Example.org", "cause": "complaint", "evidence": "told us on 3 May"})
        ended = self.notification(engine, waiting)["deliveries"][0]
        self.assertEqual((ended["state"], ended["reason"]["code"]), ("suppressed", "suppressed_address"))
        # The engine looks once a second whether there is any suppression at all.
        found = wait_for("it is seen", lambda: (lambda d: d if d["state"] == "suppressed" else None)(
            self.settled(engine, self.send(engine, **{**note, "recipient": "ada@EXAMPLE.org"}))["deliveries"][0]))
        self.assertEqual(found["reason"]["code"], "suppressed_address")
        self.assertRegex(found["detail"], r"^complaint on 20\S+Z: told us on 3 May$")
        self.assertIsNone(found["body"])
        status, _ = engine.request("DELETE", "/api/v1/suppressions", {"channel": "email", "address": "ada@example.org"})
        self.assertEqual(status, 200)
        self.assertEqual(self.settled(engine, self.send(engine, **note))["deliveries"][0]["state"], "delivered")

    def test_a_suppressed_address_is_not_written_to_however_it_is_written(self):
        engine = self.start()
        later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        waiting = self.send(engine, type="note", channel="email", recipient="Ada@Example.org", body="x", due_at=later)
        wait_for("it waits", lambda: self.notification(engine, waiting)["deliveries"])
        self.post(engine, "suppressions", {"channel": "email", "address": "ADA@example.org", "cause": "complaint", "evidence": "told us"})
        engine.stop()
        engine = self.start()
        self.post(engine, f"notifications/{waiting}/dispatch", {})
        ended = self.settled(engine, waiting)["deliveries"][0]
        self.assertEqual((ended["state"], ended["reason"]["code"], ended["attempt_count"]), ("suppressed", "suppressed_address", 0))
        self.assertRegex(ended["detail"], r"^complaint on 20\S+Z: told us$")

    def test_a_list_of_1200_with_duplicates_gives_one_delivery_each(self):
        engine = self.start()
        contacts = [{"key": f"c{i:04}", "name": f"N{i}", "addresses": {"email": f"c{i:04}@example.org"}} for i in range(1000)]
        self.put(engine, "contacts", contacts)
        self.put(engine, "lists/readers", {"description": "who reads"})
        self.assertEqual(self.post(engine, "lists/readers/members", [{"contact": c["key"]} for c in contacts])["added"], 1000)
        more = [{"channel": "email", "address": f"a{i}@example.org"} for i in range(200)]
        self.assertEqual(self.post(engine, "lists/readers/members", more + more[:100] + [{"contact": "c0001"}])["added"], 200)
        # Two of them are reached at one address: that is one delivery.
        self.post(engine, "lists/readers/members", {"channel": "email", "address": "c0000@example.org"})
        message = self.send(engine, type="news", entity_id="issue-1", payload={})
        wait_for("all are made", lambda: self.notification(engine, message)["state"] == "expanded", 60)
        self.wait_settled()
        rows = self.store.query("SELECT recipient, count(*) FROM postrider.delivery GROUP BY recipient")
        self.assertEqual(len(rows), 1200)
        self.assertEqual({count for _, count in rows}, {1})
        self.assertEqual(self.store.query("SELECT count(*) FROM postrider.settled WHERE state = 4")[0][0], 1200)
        done = self.notification(engine, message)
        self.assertEqual(done["reason"]["code"], "duplicate_delivery")
        self.assertIn("c0000@example.org", done["detail"])
        as_of = self.store.query("SELECT as_of FROM postrider.message_state")
        self.assertTrue(as_of and as_of[0][0], "when the list was looked at is kept")
        again = self.settled(engine, self.send(engine, type="news", entity_id="issue-1", payload={}), ("duplicate",))
        self.assertEqual(again["deliveries"], [])

    def test_a_list_is_looked_at_when_the_message_is_due(self):
        engine = self.start()
        self.put(engine, "lists/team")
        members = lambda *names: [{"channel": "email", "address": f"{name}@example.org"} for name in names]
        self.post(engine, "lists/team/members", members("ada", "bob"))
        due = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        message = self.send(engine, type="note", channel="email", list="team", body="x", due_at=due)
        wait_for("it waits", lambda: self.notification(engine, message)["state"] == "expanding")
        engine.request("DELETE", "/api/v1/lists/team/members", members("bob"))
        self.post(engine, "lists/team/members", members("cleo"))
        wait_for("it is expanded", lambda: self.notification(engine, message)["state"] == "expanded")
        self.post(engine, "lists/team/members", members("dan"))
        self.wait_settled()
        self.assertEqual({d["recipient"] for d in self.notification(engine, message)["deliveries"]}, {"ada@example.org", "cleo@example.org"})

    def test_a_list_of_an_event_is_looked_at_when_its_route_says_that_it_is_due(self):
        engine = self.start()
        self.put(engine, "lists/readers")
        address = lambda name: {"channel": "email", "address": f"{name}@example.org"}
        self.post(engine, "lists/readers/members", address("ada"))
        day = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        message = self.send(engine, type="news.planned", payload={"day": day})
        waits = wait_for("it waits", lambda: (lambda n: n if n["state"] == "expanding" else None)(self.notification(engine, message)))
        self.assertEqual((waits["reason"]["code"], waits["deliveries"]), ("scheduled", []))
        self.assertIn("It waits until 20", self.command("explain", message).stdout)
        self.post(engine, "lists/readers/members", address("bo"))
        wait_for("it is expanded", lambda: self.notification(engine, message)["state"] == "expanded")
        self.wait_settled()
        self.assertEqual({d["recipient"] for d in self.notification(engine, message)["deliveries"]}, {"ada@example.org", "bo@example.org"})

    def test_a_list_that_vanished_and_came_back(self):
        engine = self.start()
        message = self.send(engine, type="note", channel="email", list="team", body="x")
        failed = self.settled(engine, message)
        self.assertEqual((failed["state"], failed["reason"]["code"], failed["detail"]), ("failed", "unknown_list", 'list "team"'))
        self.put(engine, "lists/team")
        self.post(engine, "lists/team/members", {"channel": "email", "address": "ada@example.org"})
        self.post(engine, f"notifications/{message}/replay", {"why": "the list is back"})
        done = self.settled(engine, message, ("delivered",))
        self.assertEqual([d["recipient"] for d in done["deliveries"]], ["ada@example.org"])
        engine.request("DELETE", "/api/v1/lists/team")
        again = self.settled(engine, self.send(engine, type="note", channel="email", list="team", body="x"))
        self.assertEqual(again["reason"]["code"], "unknown_list")

    def test_quiet_hours_move_the_due_time(self):
        engine = self.start()
        zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))  # Asia/Kolkata knows no summer time
        now = datetime.datetime.now(zone)
        end = (now + datetime.timedelta(hours=2)).replace(second=0, microsecond=0)
        hours = f"{(now - datetime.timedelta(hours=1)):%H:%M}-{end:%H:%M}"
        self.put(engine, "contacts/ada", {"timezone": "Asia/Kolkata", "quiet_hours": hours, "addresses": {"email": "ada@example.org"}})
        note = {"type": "note", "channel": "email", "contact": "ada", "body": "x"}
        message = self.send(engine, **note)
        waiting = wait_for("it waits", lambda: self.notification(engine, message)["deliveries"])[0]
        self.assertEqual((waiting["state"], waiting["reason"]["code"]), ("retrying", "quiet_hours"))
        self.assertEqual(waiting["detail"], f"{hours} Asia/Kolkata")
        self.assertEqual(datetime.datetime.fromisoformat(waiting["due_at"].replace("Z", "+00:00")), end)
        urgent = self.settled(engine, self.send(engine, **note, category="security"))
        self.assertEqual(urgent["deliveries"][0]["state"], "delivered", "an exempt category does not wait")

    def test_an_opt_out_ends_what_waits(self):
        engine = self.start()
        self.put(engine, "contacts/ada", {"addresses": {"email": "ada@example.org"}})
        later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        news = self.send(engine, type="note", channel="email", contact="ada", category="marketing", body="x", due_at=later)
        code = self.send(engine, type="note", channel="email", contact="ada", category="security", body="x", due_at=later)
        wait_for("both wait", lambda: all(self.notification(engine, each)["deliveries"] for each in (news, code)))
        self.command("contacts", "set", "ada", "--opt-out", "email", "--why", "phone call")
        self.assertEqual(self.notification(engine, news)["deliveries"][0]["reason"]["code"], "opted_out")
        self.assertEqual(self.notification(engine, code)["deliveries"][0]["state"], "retrying")
        audit = self.store.query("SELECT action, why FROM postrider.audit ORDER BY id")
        self.assertEqual(audit[-2:], [("save_contact", "phone call"), ("opt_out", "phone call")])


class Files:
    """The command line and files of people."""

    def write(self, name, text):
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path

    def setUp(self):
        super().setUp()
        self.command("migrate")

    def refused(self, *arguments):
        done = self.command(*arguments, code=1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr.strip()

    def test_contacts_go_out_and_come_back_the_same(self):
        self.command("contacts", "set", "ada", "--name", "=cmd|' /C calc'!A0", "--locale", "en-GB", "--timezone", "Europe/London",
                     "--quiet-hours", "22:00-08:00", "--address", "email=Ada@Example.org", "--address", "sms=+919876543210",
                     "--attribute", "tier=gold", "--attribute", 'nested={"a":[1,"x,y"]}', "--opt-out", "email/marketing", "--opt-in", "sms")
        self.command("contacts", "set", "'bob", "--name", 'He said "hi", twice', "--address", "webhook=https://example.org/Hook")
        self.command("contacts", "set", "+4711", "--name", "-")
        before = json.loads(self.command("--json", "contacts", "list").stdout)
        path = os.path.join(self.home, "people.csv")
        self.assertIn("3 exported", self.command("contacts", "export", path).stdout)
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        self.assertIn("'=cmd|", text)
        self.assertIn(",+919876543210,", text)
        self.assertEqual(len(list(csv.reader(io.StringIO(text)))), 4, "another reader reads it too")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        for contact in before:
            self.command("contacts", "remove", contact["key"])
        self.assertEqual(json.loads(self.command("--json", "contacts", "list").stdout), [])
        self.assertIn("3 rows, 3 of them new", self.command("contacts", "import", path).stdout)
        after = json.loads(self.command("--json", "contacts", "list").stdout)
        for contact in before + after:
            del contact["updated_at"]
        self.assertEqual(after, before)
        self.assertIn("3 rows, 0 of them new", self.command("contacts", "import", path, "--batch", "2").stdout)
        self.assertEqual(self.command("contacts", "export", "-").stdout.replace("\r\n", "\n"), text.replace("\r\n", "\n"))

    def on_a_terminal(self, *arguments):
        """What a command tells on the terminal that its stderr is."""
        master, slave = pty.openpty()
        done = subprocess.run([harness.BINARY, "--home", self.home, *arguments], stdout=subprocess.DEVNULL, stderr=slave, check=True, timeout=60)
        os.close(slave)
        self.assertEqual(done.returncode, 0)
        text = b""
        with contextlib.suppress(OSError):  # the other end is closed: that was all
            while chunk := os.read(master, 4096):
                text += chunk
        os.close(master)
        return text.decode()

    def test_long_files_tell_how_far_they_are(self):
        path = self.write("many.csv", "key,email\n" + "".join(f"c{i},c{i}@example.org\n" for i in range(2500)))
        told = "\r1000 rows\r2000 rows\r2500 rows\r\n"
        self.assertEqual(self.on_a_terminal("contacts", "import", path), told)
        self.assertEqual(self.on_a_terminal("contacts", "export", path), told)
        self.assertEqual(self.command("contacts", "export", path).stderr, "", "a pipe is no terminal")

    def test_an_import_is_all_or_none_and_says_where_it_is_wrong(self):
        good = "key,email,sms\nada,ada@example.org,+919876543210\n"
        path = self.write("bad.csv", good + "bob,nobody,\n")
        self.assertEqual(self.refused("contacts", "import", path),
                         f"postrider: {path}: line 3, column email: has no local part and domain; nothing was changed")
        self.assertEqual(json.loads(self.command("--json", "contacts", "list").stdout), [])
        self.assertIn("; the 1 rows before it were imported", self.refused("contacts", "import", path, "--batch", "1"))
        path = self.write("twice.csv", good + "ada,,\n")
        self.assertIn("line 3, column key: stands on line 2 too; nothing was changed", self.refused("contacts", "import", path))
        path = self.write("columns.csv", "key,mail\nada,x\n")
        self.assertIn("column mail: is not known; there is: key, name", self.refused("contacts", "import", path))
        path = self.write("short.csv", "key,email\nada\n")
        self.assertIn("line 2: 1 cells, but there are 2 columns", self.refused("contacts", "import", path))
        path = self.write("quote.csv", 'key,email\nada,"x\n')
        self.assertIn("line 2, cell 2: a quotation mark is never closed", self.refused("contacts", "import", path))
        self.assertIn("cannot read", self.refused("contacts", "import", os.path.join(self.home, "none.csv")))
        self.assertIn("the file is empty", self.refused("contacts", "import", self.write("empty.csv", "")))

    def test_a_dry_run_counts_explains_and_changes_nothing(self):
        self.command("contacts", "set", "ada")
        path = self.write("people.csv", "key,locale,timezone,opt_out\nada,,,\nbob,,,sms; */news\nx,,Mars/Base,\ny,de_DE_,,\nz,,,fax/a\n")
        done = self.command("contacts", "import", path, "--dry-run", code=1)
        self.assertIn("line 4, column timezone", done.stdout)
        self.assertIn("line 6, column opt_out", done.stdout)
        self.assertIn("2 rows, 1 of them new (dry run", done.stdout)
        self.assertEqual(len(json.loads(self.command("--json", "contacts", "list").stdout)), 1)
        path = self.write("good.csv", "key,opt_out\nbob,sms; */news\n")
        self.assertEqual(json.loads(self.command("--json", "contacts", "import", path, "--dry-run").stdout),
                         {"rows": 1, "new": 1, "dry_run": True, "problems": []})
        self.command("contacts", "import", path)
        wishes = json.loads(self.command("contacts", "show", "bob").stdout)["preferences"]
        self.assertEqual([(w["channel"], w["category"], w["allowed"], w["source"]) for w in wishes],
                         [(None, "news", False, "import"), ("sms", None, False, "import")])

    def test_lists_by_hand_and_by_file(self):
        for key in ("ada", "bob"):
            self.command("contacts", "set", key)
        self.assertIn('there is no list "team"', self.refused("lists", "add", "team", "ada"))
        self.command("lists", "create", "team", "--description", "all of us")
        self.assertEqual(self.command("lists", "add", "team", "ada", "bob", "--address", "email=Desk@example.org").stdout, "3 added\n")
        self.assertIn('there is no contact "nobody"', self.refused("lists", "add", "team", "nobody"))
        self.assertEqual(self.command("lists", "drop", "team", "bob").stdout, "1 removed\n")
        path = os.path.join(self.home, "team.csv")
        self.command("lists", "export", "team", path)
        self.command("lists", "create", "copy")
        self.assertIn("2 rows, 2 of them new (dry run", self.command("lists", "import", "copy", path, "--dry-run").stdout)
        self.assertIn("2 rows, 2 of them new", self.command("lists", "import", "copy", path).stdout)
        self.assertIn("2 rows, 0 of them new", self.command("lists", "import", "copy", path).stdout)
        shown = json.loads(self.command("--json", "lists", "show", "copy").stdout)
        self.assertEqual([(m["contact"], m["channel"], m["address"]) for m in shown["members"]],
                         [("ada", None, None), (None, "email", "Desk@example.org")])
        self.assertIn("Desk@example.org", self.command("lists", "show", "team").stdout)
        self.command("lists", "remove", "team")
        self.assertEqual([each["name"] for each in json.loads(self.command("--json", "lists", "list").stdout)], ["copy"])

    def test_suppressions_by_hand_and_by_file(self):
        self.command("suppressions", "add", "email=Ada@example.org", "sms=+919876543210", "--evidence", "=asked", "--cause", "unsubscribe")
        self.assertEqual(self.command("suppressions", "add", "email=a@example.org", code=2).returncode, 2)
        path = os.path.join(self.home, "out.csv")
        self.command("suppressions", "export", path)
        before = json.loads(self.command("--json", "suppressions", "list").stdout)
        self.command("suppressions", "remove", "email=ADA@example.org", "sms=+919876543210")
        self.assertIn("none of these", self.refused("suppressions", "remove", "email=ada@example.org"))
        self.command("suppressions", "import", path)
        self.assertEqual(json.loads(self.command("--json", "suppressions", "list").stdout), before)
        path = self.write("bare.csv", "address,channel\nx@example.org,email\n")
        self.assertIn("line 2, column evidence", self.refused("suppressions", "import", path))
        self.command("suppressions", "import", path, "--evidence", "from the old system")
        found = json.loads(self.command("--json", "suppressions", "list", "--address", "x@example.org").stdout)
        self.assertEqual([(s["cause"], s["evidence"]) for s in found], [("import", "from the old system")])


class OnSqlite(People, Configured):
    store_kind = harness.Sqlite


class OnPostgres(People, Configured):
    store_kind = harness.Postgres


class FilesOnSqlite(Files, Configured):
    store_kind = harness.Sqlite


class FilesOnPostgres(Files, Configured):
    store_kind = harness.Postgres


if __name__ == "__main__":
    sys.exit(harness.main())
