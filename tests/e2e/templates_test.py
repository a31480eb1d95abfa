#!/usr/bin/python3
"""Stored templates from outside: made by HTTP and by folders of files, used by real events, versioned, scoped, previewed."""
import os
import pathlib
import re
import time

import harness

ROUTES = """
[[routes]]
type = "booking.made"
keys = ["guestName", "bookingId", "listingId"]
scopes = [{ type = "listing", field = "listingId" }]
[routes.recipients]
email = "guestEmail"
[providers.box]
type = "sandbox"
"""
TENANT = """
[[tenants]]
name = "default"
locale = "en-US"
locales = ["en-US", "de-DE"]
"""
MADE = {"key": "made", "name": "Booking made", "type": "booking.made", "channel": "email",
        "texts": [{"locale": "en-US", "subject": "Stay {{bookingId}}", "body": "Dear {{guestName}}"},
                  {"locale": "de-DE", "subject": "Aufenthalt {{bookingId}}", "body": "Guten Tag {{guestName}}"}]}


class Templates:
    """Run over both stores by the classes below."""

    def configure(self, extra="", provider=None, store_options=""):
        super().configure(extra + ROUTES + TENANT, provider, store_options)
        path = os.path.join(self.home, "postrider.toml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('webhook = ["hook"]', 'webhook = ["hook"]\nemail = ["box"]'))

    def make(self, engine, **changes):
        status, answer = engine.request("POST", "/api/v1/templates", {**MADE, **changes})
        self.assertEqual(status, 201, answer)
        return answer

    def booking(self, engine, wait=True, **payload):
        """What became of one event: its only delivery."""
        message = self.send(engine, type="booking.made", payload={
            "guestName": "Ada", "guestEmail": "ada@example.org", "bookingId": "b1", "listingId": 7, **payload})
        found = harness.wait_for("it is expanded", lambda: self.notification(engine, message)["deliveries"])
        self.assertEqual(len(found), 1, found)
        return message, found[0]

    def write(self, name, text):
        path = pathlib.Path(self.home) / "mails" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def folder(self, english="Dear {{guestName}}", german="Guten Tag {{guestName}}"):
        for locale, body in (("en-US", english), ("de-DE", german)):
            self.write(f"made.email.{locale}.tpl",
                       f"---\nkey: made\nname: Booking made\ntype: booking.made\nchannel: email\nlocale: {locale}\n"
                       f"subject: Stay {{{{bookingId}}}}\n---\n{body}\n")
        return str(pathlib.Path(self.home) / "mails")

    def test_versions_from_the_first_to_the_last(self):
        engine = self.start()
        made = self.make(engine)
        self.assertEqual((made["version"], made["warnings"]), (1, []))
        message, delivery = self.booking(engine)
        self.assertEqual((delivery["template_version"], delivery["subject"], delivery["body"]), (1, "Stay b1", "Dear Ada"))
        path = f"/api/v1/templates/{made['id']}"

        status, changed = engine.request("PUT", path, {"texts": [{**text, "body": "Hi {{guestName}}"} for text in MADE["texts"]]})
        self.assertEqual((status, changed["version"]), (200, 2), changed)
        _, delivery = self.booking(engine)  # at once: no second is waited for
        self.assertEqual((delivery["template_version"], delivery["body"]), (2, "Hi Ada"))
        self.assertEqual(self.notification(engine, message)["deliveries"][0]["body"], "Dear Ada")
        texts = engine.request("GET", path + "?version=1")[1]["texts"]
        self.assertEqual({text["locale"]: text["body"] for text in texts}, {"de-DE": "Guten Tag {{guestName}}", "en-US": "Dear {{guestName}}"})

        status, shown = engine.request("POST", path + "/preview", {"message": message, "version": 1, "locale": "de-DE"})
        self.assertEqual((status, shown["body"], shown["subject"]), (200, "Guten Tag Ada", "Aufenthalt b1"), shown)

        status, removed = engine.request("DELETE", path)
        self.assertEqual((status, removed["result"]), (200, "deactivated"), removed)
        self.assertEqual(engine.request("GET", path)[1]["active"], False)
        unwritten = self.send(engine, type="booking.made", payload={"guestEmail": "ada@example.org"})
        ended = harness.wait_for("it fails", lambda: self.notification(engine, unwritten).get("state") == "failed" and self.notification(engine, unwritten))
        self.assertEqual(ended["reason"]["code"] if isinstance(ended["reason"], dict) else ended["reason"], "template_not_found")

    def test_unused_ones_are_deleted_and_others_refused(self):
        engine = self.start()
        made = self.make(engine)
        self.assertEqual(engine.request("POST", "/api/v1/templates", MADE)[0], 409)
        status, answer = engine.request("DELETE", f"/api/v1/templates/{made['id']}")
        self.assertEqual((status, answer["result"]), (200, "deleted"))
        self.assertEqual(engine.request("GET", f"/api/v1/templates/{made['id']}")[0], 404)
        again = self.make(engine, texts=[{"locale": "en-US", "body": "{{gustName}}"}])
        self.assertEqual({warning["code"] for warning in again["warnings"]}, {"unknown_placeholder", "missing_locale"}, again)

    def test_the_narrower_scope_wins(self):
        engine = self.start()
        self.make(engine)
        scoped = self.make(engine, scope_type="listing", scope_id="10", texts=[{"locale": "en-US", "body": "Only ten"}])
        _, delivery = self.booking(engine, listingId=10)
        self.assertEqual(delivery["body"], "Only ten")
        _, delivery = self.booking(engine, listingId=11)
        self.assertEqual(delivery["body"], "Dear Ada")
        self.assertNotEqual(scoped["id"], 0)

    def test_the_language_is_the_one_that_the_message_asks_for(self):
        engine = self.start()
        made = self.make(engine)
        event = {"type": "booking.made", "payload": {"guestName": "Ada", "guestEmail": "ada@example.org", "bookingId": "b1"}}
        for wished, body in (("de-DE", "Guten Tag Ada"), ("fr;q=1, de-DE;q=0.5", "Guten Tag Ada"), ("fr", "Dear Ada")):
            message = self.send(engine, **event, locale=wished)
            found = harness.wait_for("it is expanded", lambda: self.notification(engine, message)["deliveries"])
            self.assertEqual(found[0]["body"], body, wished)
        for header, body in (("en;q=0.1, de-DE;q=0.9", "Guten Tag Ada"), ("DE-de-1996", "Guten Tag Ada"), ("de", "Dear Ada"), ("*", "Dear Ada"),
                             ("de-DE;q=0, en", "Dear Ada"), ("", "Dear Ada")):
            status, sent = engine.request("POST", "/api/v1/messages", event, headers={"accept-language": header})
            self.assertEqual(status, 202, sent)
            found = harness.wait_for("it is expanded", lambda: self.notification(engine, sent["id"])["deliveries"])
            self.assertEqual(found[0]["body"], body, header)
        engine.request("PUT", f"/api/v1/templates/{made['id']}", {"texts": MADE["texts"][:1]})
        message = self.send(engine, **event, locale="de-DE")
        found = harness.wait_for("it is expanded", lambda: self.notification(engine, message)["deliveries"])
        self.assertEqual(found[0]["reason"]["code"], "template_not_found", found)
        self.assertIn("not found for locale de-DE", str(found[0]))

    def test_the_portal_sees_the_same_templates(self):
        engine = self.start()
        status, made = engine.request("POST", "/api/message-templates", {
            "eventType": "booking.made", "channel": "Email", "subject": "S", "body": "Hello {{guestName}}", "isActive": True, "language": "en-US"})
        self.assertEqual((status, made["templateVersion"], made["channel"]), (201, 1, "Email"), made)
        _, delivery = self.booking(engine)
        self.assertEqual(delivery["body"], "Hello Ada")
        status, listed = engine.request("GET", "/api/message-templates?eventType=booking.made&isActive=true")
        self.assertEqual((status, [row["id"] for row in listed]), (200, [made["id"]]))
        status, gone = engine.request("DELETE", f"/api/message-templates/{made['id']}")
        self.assertEqual((status, gone["deleted"], gone["isActive"]), (200, False, False))

    def test_a_folder_goes_live_as_a_whole_or_not_at_all(self):
        engine = self.start()
        folder = self.folder()
        self.assertIn("1 templates, 0 errors, 0 warnings", self.command("templates", "lint", folder).stdout)
        planned = self.command("templates", "apply", folder, "--dry-run").stdout
        self.assertIn("new         made (email)", planned)
        self.assertEqual(self.command("templates", "list").stdout, "")
        self.assertIn("1 new, 0 changed, 0 unchanged", self.command("templates", "apply", folder).stdout)
        self.assertIn("0 new, 0 changed, 1 unchanged", self.command("templates", "apply", folder).stdout)

        self.folder(english="Hi {{guestName}}")
        self.write("broken.tpl", "---\nkey: other\nchannel: sms\nlocale: en-US\n---\n{{#open}}\n")
        for command in ("lint", "apply"):
            done = self.command("templates", command, folder, code=1)
            self.assertIn("broken.tpl: error: other (sms), en-US, body: line 6, column 1:", done.stdout)
            self.assertIn("other (sms), de-DE: has no text in de-DE", done.stdout)
            self.assertEqual(done.stderr, "postrider: 2 errors in the templates; nothing was changed\n")
        self.assertEqual([t["version"] for t in engine.request("GET", "/api/v1/templates")[1]["templates"]], [1])

        os.remove(os.path.join(folder, "broken.tpl"))
        self.assertIn("0 new, 1 changed, 0 unchanged", self.command("templates", "apply", folder).stdout)
        harness.wait_for("the engine reads it again", lambda: self.booking(engine)[1]["body"] == "Hi Ada", 10)

        extra = self.make(engine, key="extra", type="other")
        self.assertIn("0 deactivated", self.command("templates", "apply", folder).stdout)
        self.assertIn("1 deactivated", self.command("templates", "apply", folder, "--prune").stdout)
        self.assertFalse(engine.request("GET", f"/api/v1/templates/{extra['id']}")[1]["active"])

    def test_a_second_active_template_for_one_event_is_found_before_it_is_stored(self):
        engine = self.start()
        folder = self.folder()
        self.write("other.tpl", "---\nkey: other\ntype: booking.made\nchannel: email\n---\nHi\n")
        for command in (("lint", folder), ("apply", folder, "--dry-run"), ("apply", folder)):
            done = self.command("templates", *command, code=1)
            self.assertIn("other.tpl: error: other (email): made (email) already is the active one of booking.made", done.stdout)
        os.remove(os.path.join(folder, "made.email.en-US.tpl"))
        os.remove(os.path.join(folder, "made.email.de-DE.tpl"))
        stored = self.make(engine)
        self.assertIn("made (email) already is the active one", self.command("templates", "apply", folder, "--dry-run", code=1).stdout)
        self.assertIn("1 new, 0 changed, 0 unchanged, 1 deactivated", self.command("templates", "apply", folder, "--prune").stdout)
        self.assertFalse(engine.request("GET", f"/api/v1/templates/{stored['id']}")[1]["active"])

    def test_a_folder_that_prunes_a_partial_may_not_include_it(self):
        engine = self.start()
        self.make(engine, key="footer", type="", channel="partial", texts=[{"locale": "", "body": "bye"}])
        folder = self.folder(english="Hi {{> footer}}")
        done = self.command("templates", "apply", folder, "--prune", code=1)
        self.assertIn('there is no partial "footer"', done.stdout)
        self.assertTrue(all(t["active"] for t in engine.request("GET", "/api/v1/templates")[1]["templates"]))
        self.assertIn("1 new", self.command("templates", "apply", folder).stdout)

    def test_an_export_writes_all_files_or_none(self):
        engine = self.start()
        for key in ("a", "b", "c"):
            self.make(engine, key=key, type=key, texts=[{"locale": "", "body": key}])
        folder = pathlib.Path(self.home) / "out"
        (folder / "b.email.any.tpl.new").mkdir(parents=True)
        done = self.command("templates", "export", str(folder), code=1)
        self.assertIn("cannot write", done.stderr)
        self.assertEqual([each.name for each in folder.glob("*.tpl")], [])
        (folder / "b.email.any.tpl.new").rmdir()
        self.command("templates", "export", str(folder))
        self.assertEqual(sorted(each.name for each in folder.iterdir()), [f"{key}.email.any.tpl" for key in "abc"])

    def test_what_is_exported_is_what_is_stored(self):
        engine = self.start()
        self.make(engine, scope_type="listing", scope_id="a/b", texts=[
            {"locale": "en-US", "subject": " \"odd\" ", "body": "a\n--- html ---\n\nb\n", "html": "<p>\n"},
            {"locale": "de-DE", "body": "ü {{guestName}}", "provider_template": "p", "provider_params": [{"name": "1", "text": "{{bookingId}}"}]}])
        self.make(engine, key="footer", type="", channel="partial", texts=[{"locale": "", "body": "bye"}])
        before = engine.request("GET", "/api/v1/templates")[1]
        folder = os.path.join(self.home, "out")
        self.assertIn("3 files", self.command("templates", "export", folder).stdout)
        self.assertIn("0 new, 0 changed, 2 unchanged", self.command("templates", "apply", folder).stdout)
        self.assertEqual(engine.request("GET", "/api/v1/templates")[1], before)
        shown = self.command("templates", "show", str(before["templates"][0]["id"])).stdout
        self.assertIn("scope: listing/a/b", shown)

    def test_one_that_cannot_be_used_is_told_in_the_log_once_and_by_the_doctor(self):
        engine = self.start()
        self.make(engine)
        self.assertRegex(self.command("doctor").stdout, "(?m)^good +templates +1 can be used")
        self.store.run("UPDATE postrider.template_text SET body = 'Dear {{#guestName}}' WHERE locale = 'en-US'")  # as no API would
        self.store.run("UPDATE postrider.catalog SET version = version + 1")
        told = "a stored template cannot be used: template made: body \\(en-US\\)"
        harness.wait_for("the log says so", lambda: re.search(told, engine.text()))
        self.assertRegex(self.command("doctor", code=1).stdout, "(?m)^WRONG +templates +stored template made: body \\(en-US\\)")
        message = self.send(engine, type="booking.made", payload={"guestEmail": "ada@example.org"})
        harness.wait_for("it failed", lambda: self.notification(engine, message)["reason"]["code"] == "template_not_found")
        time.sleep(2.5)
        self.assertEqual(len(re.findall(told, engine.text())), 1)
        self.store.run("UPDATE postrider.template_text SET body = 'Dear {{guestName}}' WHERE locale = 'en-US'")
        self.store.run("UPDATE postrider.catalog SET version = version + 1")
        harness.wait_for("the log says so", lambda: "all stored templates can be used again" in engine.text())
        self.assertEqual(self.command("replay", message).returncode, 0)
        harness.wait_for("it is sent", lambda: self.notification(engine, message)["status"] in ("sent", "delivered"))

    def test_a_preview_by_command(self):
        engine = self.start()
        made = self.make(engine)
        message, _ = self.booking(engine)
        shown = self.command("templates", "preview", str(made["id"]), "--message", message, "--locale", "de-DE").stdout
        self.assertEqual(shown, "Subject: Aufenthalt b1\n\nGuten Tag Ada\n")
        data = self.write("data.json", '{"guestName": "Bo"}')
        done = self.command("templates", "preview", str(made["id"]), "--data-file", str(data))
        self.assertIn("Dear Bo", done.stdout)
        self.assertIn("warning: no value for bookingId", done.stderr)
        self.assertIn("postrider: there is no template 99", self.command("templates", "preview", "99", code=1).stderr)
        self.assertIn("no tenant", self.command("templates", "list", "--tenant", "nobody", code=1).stderr)


class OnSqlite(Templates, harness.Case):
    def test_lint_needs_no_store(self):
        self.assertIn("0 errors", self.command("templates", "lint", self.folder()).stdout)
        self.assertFalse(os.path.exists(os.path.join(self.home, "postrider.db")))
        self.assertIn("cannot read the folder", self.command("templates", "lint", os.path.join(self.home, "none"), code=1).stderr)


class OnPostgres(Templates, harness.Case):
    store_kind = harness.Postgres


if __name__ == "__main__":
    harness.main()
