#!/usr/bin/python3
"""What an operator sees and does: stories of recipients, metrics with their alert rules, the shim and what it records."""
import json
import os
import re
import subprocess
import time
import urllib.request

import harness
from harness import wait_for

RULES = os.path.join(harness.ROOT, "ops/alerts.yml")
RULES_TEST = os.path.join(harness.ROOT, "tests/e2e/alerts.test.yml")


def promtool(*arguments, text=None):
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


class Stories:
    """What holds on every store."""

    def story(self, *arguments):
        return [line["text"] for line in json.loads(self.command("--json", "explain", *arguments).stdout)["story"]]

    def assert_told(self, story, words):
        self.assertTrue(any(words in line for line in story), f"{words!r} is not in\n" + "\n".join(story))

    def test_a_recipient_is_told_what_came_what_did_not_and_why(self):
        engine = self.start()
        there = f"{self.provider.url}/ada"
        got = self.send(engine, channel="webhook", recipient=there, body="B")
        lost = self.send(engine, type="never.heard.of", payload={"deep": {"to": [there]}})
        self.wait_settled()
        status, answer = engine.request("POST", "/api/v1/suppressions", {"channel": "webhook", "address": there, "evidence": "it asked"})
        self.assertEqual(status, 200, answer)
        time.sleep(1.5)  # the engine looks once a second whether there is any suppression at all
        refused = self.send(engine, channel="webhook", recipient=there, body="B")
        self.wait_settled()
        story = self.story("--recipient", there, "--since", "1h")
        self.assert_told(story, f"(message {got}) by webhook to {there}: delivered;")
        self.assert_told(story, f"(message {lost}): Ignored, and kept: no route")
        self.assert_told(story, f"(message {refused}) by webhook to {there}: not sent; the address is on the suppression list")
        self.assert_told(story, f"Nothing is sent by webhook to {there} for tenant default")
        self.assert_told(story, "nobody can know")
        only = self.story("--recipient", there, "--type", "never.heard.of")
        self.assert_told(only, lost)
        self.assertFalse(any(got in line for line in only))
        self.assertEqual(self.story("--recipient", there, "--since", "2099-01-01")[-2], "Nothing is known for this recipient since "
                         "2099-01-01T00:00:00.000Z.")
        self.assertIn("neither a time nor a duration", self.command("explain", "--recipient", there, "--since", "soon", code=1).stderr)
        by_http = engine.request("GET", f"/api/v1/explain?recipient={there}&limit=1")[1]
        self.assertIsNotNone(by_http["next"])

    def test_every_end_of_a_run_is_told_with_its_reason(self):
        self.policy = 'kind = "fixed"\ninterval = "50ms"\nmax_attempts = 2\ntimeout = "2s"'
        self.configure()
        self.provider.answer = lambda call: (503, b"busy") if b"fail" in call["body"] else (200, b"{}")
        engine = self.start()
        sent = {"delivered": self.send(engine, payload={"a": 1}), "parked": self.send(engine, payload={"a": "fail"}),
                "ignored": self.send(engine, type="never.heard.of"),
                "expired": self.send(engine, payload={"a": "fail"}, expires_at="2099-01-01T00:00:00Z", due_at="2099-01-02T00:00:00Z")}
        for status, message in sent.items():
            wait_for(status, lambda: self.notification(engine, message)["status"] == status)
            lines = json.loads(self.command("--json", "explain", message).stdout)["story"]
            self.assertTrue(lines[-1]["reason"], lines)
            self.assertNotEqual(lines[-1]["reason"], "waiting", lines)
        self.assert_told(self.story(sent["parked"]), "parked; all attempts failed (HTTP 503: busy, 2 attempts, through hook).")


class StoriesOnSqlite(Stories, harness.Case):
    store_kind = harness.Sqlite


class StoriesOnPostgres(Stories, harness.Case):
    store_kind = harness.Postgres


class Metrics(harness.Case):
    def configure(self, **arguments):
        super().configure(**arguments)
        with open(os.path.join(self.home, "postrider.toml"), "a", encoding="utf-8") as file:
            file.write('[engine]\nmetrics_prefix = "shop"\n')

    def page(self, engine, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{engine.port}{path}", timeout=20) as answer:
            self.assertEqual(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
            return answer.read().decode()

    def test_the_lite_page_counts_what_became_of_the_outbox(self):
        engine = self.start()
        for _ in range(3):
            self.send(engine)
        self.wait_settled()
        wait_for("the counts", lambda: 'shop_notifications_outbox_total{status="sent",event_type="thing.happened"} 3'
                 in self.page(engine, "/ops/metrics-lite"))
        page = self.page(engine, "/ops/metrics-lite")
        for line in ['shop_notifications_outbox_attempt_total{event_type="thing.happened"} 3',
                     'shop_notifications_dispatch_seconds_bucket{event_type="thing.happened",le="+Inf"} 3',
                     'shop_notifications_dispatch_seconds_count{event_type="thing.happened"} 3',
                     "shop_notifications_delivery_errors_total 0", "shop_notifications_outbox_pending 0"]:
            self.assertIn(line + "\n", page)
        for path in ["/ops/metrics-lite", "/metrics"]:
            code, printed = promtool("check", "metrics", text=self.page(engine, path))
            self.assertEqual(code, 0, printed)

    def test_the_rules_fire_when_they_should_and_name_what_there_is(self):
        code, printed = promtool("check", "rules", RULES)
        self.assertEqual(code, 0, printed)
        self.assertIn("2 rules found", printed)
        code, printed = promtool("test", "rules", RULES_TEST)
        self.assertEqual(code, 0, printed)
        with open(RULES, encoding="utf-8") as file:
            named = set(re.findall(r"\bpostrider_(\w+)", "\n".join(re.findall(r"expr:.*?(?:labels|for):", file.read(), re.DOTALL))))
        self.assertEqual(len(named), 2, named)
        page = self.page(self.start(), "/ops/metrics-lite")
        for name in named:
            self.assertIn(f"# TYPE shop_{name} ", page)

    def test_the_dashboard_asks_for_what_there_is(self):
        with open(os.path.join(harness.ROOT, "ops/dashboard.json"), encoding="utf-8") as file:
            asked = [target["expr"] for panel in json.load(file)["panels"] for target in panel["targets"]]
        self.assertGreaterEqual(len(asked), 6)
        rules = os.path.join(self.home, "rules.yml")
        with open(rules, "w", encoding="utf-8") as file:  # JSON is YAML: promtool reads each question as it would a rule's
            json.dump({"groups": [{"name": "asked", "rules": [{"record": f"asked:{n}", "expr": e} for n, e in enumerate(asked)]}]}, file)
        code, printed = promtool("check", "rules", rules)
        self.assertEqual(code, 0, printed)
        page = self.page(self.start(), "/metrics")
        for name in set(re.findall(r"\bpostrider_(\w+)", " ".join(asked))):
            self.assertIn(f"# TYPE shop_{name.removesuffix('_bucket')} ", page)

    def test_a_rule_that_is_broken_is_found(self):
        with open(RULES, encoding="utf-8") as file:
            broken = file.read().replace("[10m])) > 0", "[10m])) > 1000", 1)
        folder = os.path.join(self.home, "a", "b")
        os.makedirs(folder)
        os.makedirs(os.path.join(self.home, "ops"))
        with open(os.path.join(self.home, "ops/alerts.yml"), "w", encoding="utf-8") as file:
            file.write(broken)
        with open(RULES_TEST, encoding="utf-8") as source, open(os.path.join(folder, "test.yml"), "w", encoding="utf-8") as file:
            file.write(source.read())
        self.assertNotEqual(promtool("test", "rules", os.path.join(folder, "test.yml"))[0], 0)


class Doctor(harness.Case):
    """Each thing that can be wrong is found, said in words, and comes with what to do; the rest stays good."""

    def wrong(self):
        findings = json.loads(self.command("--json", "doctor", code=None).stdout)
        for each in findings:
            self.assertTrue(each["good"] or each["what"] == "store" or each["do"], each)
        return {each["what"]: each["say"] for each in findings if not each["good"]}

    def test_nothing_is_wrong(self):
        self.start().stop()
        self.assertEqual(self.wrong(), {})
        self.assertRegex(self.command("doctor").stdout, "(?m)^good +clock +this machine and the database are -?[0-9]+ ms apart")

    def test_a_configuration_that_cannot_be_read(self):
        self.configure(extra="[[routes]]\ntipe = 1\n")
        self.assertIn("postrider.toml:18: routes[1].type: is required", self.wrong()["configuration"])
        self.assertIn("-> mend the file", self.command("doctor", code=1).stdout)

    def test_a_store_that_cannot_be_reached_or_was_damaged(self):
        self.start().stop()
        with open(self.store.path, "r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 4096)
        self.assertEqual(list(self.wrong()), ["store"])
        self.store.url = "postgresql://127.0.0.1:1/nothing"
        self.configure()
        self.assertEqual(list(self.wrong()), ["store"])

    def test_tables_of_another_version(self):
        self.start().stop()
        self.store.run("DELETE FROM postrider.schema WHERE version = (SELECT max(version) FROM postrider.schema)")
        self.assertIn("this program needs", self.wrong()["migrations"])
        self.assertIn("-> run `postrider migrate`", self.command("doctor", code=1).stdout)

    def test_routes_without_templates_and_templates_without_providers(self):
        self.configure(provider='type = "sandbox"\nchannel = "webhook"', extra="""
[[routes]]
type = "never.written"
recipients = { email = "to" }
[[templates]]
key = "text"
type = "thing.happened"
channel = "sms"
body = "B"
""")
        self.start().stop()
        wrong = self.wrong()
        self.assertIn("never.written has no template", wrong["templates"])
        self.assertIn("no provider serves sms", wrong["providers"])

    def test_work_that_is_stuck_or_parked(self):
        self.provider.answer = lambda call: (400, b"no")
        engine = self.start()
        self.send(engine)
        wait_for("parked", lambda: self.store.query("SELECT count(*) FROM postrider.parked") == [(1,)])
        engine.stop()
        self.assertEqual(list(self.wrong()), ["parked"])
        old = format(int((time.time() - 1200) * 1000), "012x")
        connection = self.store.connect()
        self.store.insert(connection, id=f"{old[:8]}-{old[8:]}-7000-8000-000000000001", type="thing.happened", payload="{}")
        connection.close()
        self.assertEqual(list(self.wrong()), ["work", "parked"])
        self.assertIn("is `postrider serve` running?", self.command("doctor", code=1).stdout)


class Shim(harness.Case):
    policy = 'preset = "ladder"'

    def setUp(self):
        super().setUp()
        self.configure(provider='type = "shim"\nchannel = "webhook"',
                       extra='[[templates]]\nkey = "post"\ntype = "thing.happened"\nchannel = "webhook"\nbody = """{"to": "{{url}}"}"""\n')

    def test_it_fails_on_a_facts_key_and_records_one_effect_once_it_may(self):
        fact = {"entity_id": "booking:42", "version": "1", "payload": {"url": "https://example.org/x"}}
        engine = self.start(environment={"NOTIFICATION_PROVIDER_RAISE_ON": "never.mind, booking:42:thing.happened:1"})
        failing = self.send(engine, **fact, idempotency_key="lesson-42")
        other = self.send(engine, **{**fact, "entity_id": "booking:43"})
        wait_for("retrying", lambda: self.notification(engine, failing)["status"] == "retrying")
        wait_for("delivered", lambda: self.notification(engine, other)["status"] == "delivered")
        engine.stop()
        engine = self.start()
        self.assertIn("1 matching, 1 changed", self.command("dispatch", "--message", failing, "--why", "the test").stdout)
        wait_for("delivered", lambda: self.notification(engine, failing)["status"] == "delivered")
        self.assertIn("0 changed", self.command("dispatch", "--message", failing, code=1).stdout)
        ledger = json.loads(self.command("--json", "sandbox").stdout)["messages"]
        self.assertEqual(sorted((each["key"], each["calls"]) for each in ledger),
                         [(f"booking:{n}:thing.happened:1:webhook:post", 1) for n in (42, 43)])
        self.assertEqual({each["key"].split(":")[1]: each["message_key"] for each in ledger}, {"42": "lesson-42", "43": None})
        self.assertTrue(all(each["sent_at"] and json.loads(each["body"]) for each in ledger))
        self.assertEqual({(each["attempt_count"], each["last_sent_at"] == each["sent_at"], each["type"]) for each in ledger},
                         {(1, True, "thing.happened")})
        self.assertEqual([each["payload"] for each in ledger], [fact["payload"]] * 2)
        text = self.command("sandbox").stdout
        self.assertIn("(message lesson-42)", text)
        self.assertIn("1 call  webhook  thing.happened  booking:42:thing.happened:1:webhook:", text)
        self.assertEqual(ledger, engine.request("GET", "/api/v1/sandbox/messages")[1]["messages"])

    def test_the_second_name_of_the_variable_works_beside_the_first(self):
        engine = self.start(environment={"NOTIFICATION_PROVIDER_RAISE_ON": "a.type", "POSTRIDER_FAIL_ON": "thing.happened"})
        failing = self.send(engine, payload={"url": "https://example.org/x"})
        wait_for("retrying", lambda: self.notification(engine, failing)["status"] == "retrying")
        self.assertIn("the shim was told to fail", self.command("explain", failing).stdout)


if __name__ == "__main__":
    harness.main()
