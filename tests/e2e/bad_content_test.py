#!/usr/bin/python3
"""Bad templates, enormous texts, far too many recipients, languages and dates that are none: a clear reason each, and nobody else is held up."""
import sys
import time

import harness
from harness import wait_for

EXTRA = """
[providers.box]
type = "sandbox"
channel = "push"
[[tenants]]
name = "default"
locale = "en-US"
locales = ["en-US", "de-DE"]
channels = { push = ["box"], webhook = ["hook"] }
[[routes]]
type = "all.told"
recipients = { push = "tokens[]" }
[[templates]]
key = "all"
type = "all.told"
channel = "push"
body = "News"
[[routes]]
type = "much.said"
recipients = { push = "token" }
[[templates]]
key = "much"
type = "much.said"
channel = "push"
body = "{{#lines}}{{{line}}}{{/lines}}"
[[routes]]
type = "visit.planned"
recipients = { push = "token" }
schedule = { field = "checkinDate", offset = "-24h" }
[[templates]]
key = "visit"
type = "visit.planned"
channel = "push"
body = "Tomorrow"
"""
TEMPLATE = {"key": "t", "name": "T", "type": "thing.made", "channel": "push"}


class BadContent:
    def setUp(self):
        super().setUp()
        self.configure(extra=EXTRA)
        self.engine = self.start()

    def ended(self, message):
        """State and reason of a message that gave no delivery."""
        def look():
            view = self.notification(self.engine, message)
            return view if view["state"] in ("failed", "ignored") else None

        view = wait_for("it has failed", look)
        return view["reason"]["code"], view["detail"]

    def deliveries(self, message, count):
        return wait_for(f"{count} deliveries", lambda: (lambda found: found if len(found) == count else None)(
            self.notification(self.engine, message)["deliveries"]))

    def tearDown(self):
        """Whatever was wrong: the next message goes out."""
        before = len(self.provider.bodies())
        self.send(self.engine)
        wait_for("the next one is sent", lambda: len(self.provider.bodies()) > before)
        super().tearDown()

    def template(self, body, **more):
        return self.engine.request("POST", "/api/v1/templates", {**TEMPLATE, **more, "texts": [{"locale": "en-US", "body": body}, {"locale": "de-DE", "body": body}]})

    def test_templates_that_are_not_balanced_are_refused_with_the_place(self):
        for body, word in [("{{#a}}x", "a"), ("x{{/a}}", "a"), ("{{#a}}{{/b}}", "b"), ("{{name", "line 1"), ("{{=x}}", "line 1")]:
            status, answer = self.template(body)
            self.assertEqual(status, 400, (body, answer))
            self.assertIn(word, str(answer["error"]), body)
        self.assertEqual(self.engine.request("GET", "/api/v1/templates")[1]["templates"], [])

    def test_a_template_that_includes_itself_ends_its_deliveries_and_no_engine(self):
        status, answer = self.template("again {{> loop}}", key="loop", type="", channel="partial")
        self.assertEqual(status, 201, answer)
        self.assertEqual([each["code"] for each in answer["warnings"]], ["self_including"])
        status, answer = self.template("Hello {{> loop}}", type="all.told", key="told")
        self.assertEqual(status, 201, answer)
        message = self.send(self.engine, type="all.told", payload={"tokens": ["a1"]})
        [delivery] = self.deliveries(message, 1)
        self.assertEqual((delivery["state"], delivery["reason"]["code"]), ("suppressed", "template_broken"))

    def test_a_body_of_more_than_a_megabyte_is_refused_and_a_text_of_more_ends_its_delivery(self):
        status, answer = self.template("x" * (1 << 20) + "y")
        self.assertEqual((status, answer["error"]["code"]), (400, "INVALID_TEMPLATE"))
        line = "x" * 1000
        fits = self.send(self.engine, type="much.said", payload={"token": "t", "lines": [{"line": line}] * 900})
        [delivery] = self.deliveries(fits, 1)
        wait_for("it is sent", lambda: self.notification(self.engine, fits)["deliveries"][0]["state"] == "delivered")
        much = self.send(self.engine, type="much.said", payload={"token": "t", "line": line * 2, "lines": [1] * 600})
        [delivery] = self.deliveries(much, 1)
        self.assertEqual((delivery["state"], delivery["reason"]["code"]), ("suppressed", "content_too_large"))

    def test_a_hundred_thousand_recipients_are_served_and_one_more_is_too_many(self):
        tokens = [format(number, "x") for number in range(100_001)]
        message = self.send(self.engine, type="all.told", payload={"tokens": tokens}, lane="bulk")
        self.assertEqual(self.ended(message)[0], "too_many_recipients")
        many = self.send(self.engine, type="all.told", payload={"tokens": tokens[:-1]}, lane="bulk")
        wait_for("each has its delivery", lambda: self.store.query("SELECT count(*) FROM postrider.delivery WHERE type = 'all.told'") == [(100_000,)], 120, 0.5)
        quick = self.send(self.engine, lane="priority")
        wait_for("priority passes", lambda: [each["state"] for each in self.notification(self.engine, quick)["deliveries"]] == ["delivered"], 20)
        before = time.monotonic()
        view = self.notification(self.engine, many)
        told = self.engine.request("GET", f"/api/v1/explain?message={many}")[1]
        shown = self.command("show", many).stdout
        self.assertLess(time.monotonic() - before, 15, "its page, its story and the command")
        self.assertEqual((view["state"], view["deliveries_total"], len(view["deliveries"])), ("expanded", 100_000, 100))
        self.assertEqual(sum(view["deliveries_by_state"].values()), 100_000)
        next_page = self.engine.request("GET", f"/api/v1/notifications/{many}?cursor={view['next']}&limit=3")[1]
        self.assertEqual([each["recipient"] for each in next_page["deliveries"]], tokens[100:103])
        self.assertIn("Turned into 100000 deliveries.", str(told))
        self.assertIn("… and 99980 more", shown)

    def test_the_same_recipient_twice_is_one_delivery(self):
        message = self.send(self.engine, type="all.told", payload={"tokens": ["a", "b", "a", "a"]})
        self.deliveries(message, 2)

    def test_languages_and_zones_that_nobody_knows_are_refused(self):
        for wrong in ({"locale": "xx-NOWHERE-x"}, {"locale": "not a locale"}, {"timezone": "Mars/Olympus"}, {"quiet_hours": "25:00-08:00"}):
            status, answer = self.engine.request("PUT", "/api/v1/contacts/ada", {"addresses": {"push": "t"}, **wrong})
            self.assertEqual(status, 400, (wrong, answer))
            self.assertEqual(answer["error"]["field"], next(iter(wrong)))
        self.assertEqual(self.engine.request("GET", "/api/v1/contacts/ada")[0], 404, "nothing was stored")
        message = self.send(self.engine, type="all.told", payload={"tokens": ["a"]}, locale="!!")
        [delivery] = self.deliveries(message, 1)
        wait_for("it is sent in the tenant's language", lambda: self.notification(self.engine, message)["deliveries"][0]["state"] == "delivered")

    def test_dates_that_are_none_say_so(self):
        for date in ("soon", "2027-02-30", "", 17, None, {"a": 1}, "2027-13-01T00:00:00Z"):
            message = self.send(self.engine, type="visit.planned", payload={"token": "t", "checkinDate": date})
            reason, detail = self.ended(message)
            self.assertEqual(reason, "invalid_schedule", (date, detail))
        message = self.send(self.engine, type="visit.planned", payload={"token": "t", "checkinDate": "2099-06-01"})
        [delivery] = self.deliveries(message, 1)
        self.assertEqual(delivery["state"], "retrying", delivery)


class SqliteBadContent(BadContent, harness.Case):
    store_kind = harness.Sqlite


class PostgresBadContent(BadContent, harness.Case):
    store_kind = harness.Postgres


if __name__ == "__main__":
    sys.exit(harness.main())
