#!/usr/bin/python3
"""The whole way on both stores: from a plain INSERT, or HTTP, to a provider's socket and back into the store."""
import contextlib
import json
import os
import subprocess
import sys
import threading
import time

import harness
from harness import wait_for


class Spine:
    """What holds on every store."""

    def test_a_committed_row_is_posted_and_a_rolled_back_one_is_not(self):
        engine = self.start()
        connection = self.store.connect()
        message = self.store.insert(connection, type="thing.happened", payload='{"a":1}', entity_id="e-1")
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        cursor.execute(f"INSERT INTO {'postrider_outbox' if self.store.name == 'sqlite' else 'postrider.outbox'} (type, payload) "
                       "VALUES ('thing.happened', '{\"never\":true}')")
        cursor.execute("ROLLBACK")
        wait_for("the POST", lambda: len(self.provider.calls) == 1)
        self.wait_settled()
        self.assertEqual(len(self.provider.calls), 1)
        self.assertEqual(self.store.query("SELECT count(*) FROM postrider.message")[0][0], 1)
        self.assertEqual(json.loads(self.provider.bodies()[0])["data"], {"a": 1})
        story = self.command("explain", str(message)).stdout
        self.assertIn("Turned into 1 delivery", story)
        self.assertIn("the provider accepted it", story)
        self.assertEqual(self.notification(engine, message)["status"], "delivered")

    def test_the_same_key_twice_gives_one_delivery_and_a_duplicate_that_names_the_first(self):
        engine = self.start()
        first = self.send(engine, idempotency_key="k-1")
        again = engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {}, "idempotency_key": "k-1"})
        self.assertEqual((again[1]["id"], again[1]["duplicate"]), (first, True))
        other = engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {"b": 2}, "idempotency_key": "k-1"})
        self.assertEqual((other[0], other[1]["error"]["code"]), (422, "IDEMPOTENCY_KEY_REUSED"))
        row = self.store.insert(self.store.connect(), type="thing.happened", payload="{}", idempotency_key="k-1")
        self.wait_settled()
        duplicate = self.notification(engine, row)
        self.assertEqual((duplicate["state"], duplicate["detail"]), ("duplicate", first))
        self.assertEqual(len(self.provider.calls), 1)

    def test_one_fact_told_twice_is_sent_once(self):
        self.start()
        connection = self.store.connect()
        for _ in range(3):
            self.store.insert(connection, type="thing.happened", payload="{}", entity_id="booking-7", version="1")
        self.store.insert(connection, type="thing.happened", payload="{}", entity_id="booking-7", version="2")
        self.wait_settled()
        self.assertEqual(len(self.provider.calls), 2)

    def test_wrong_rows_become_failed_messages_and_stop_nobody(self):
        engine = self.start()
        connection = self.store.connect()
        wrong = [self.store.insert(connection, type="thing.happened", payload="[1]"),
                 self.store.insert(connection, type="thing.happened", payload="{}", lane="warp"),
                 self.store.insert(connection, type="thing.happened", payload="{}", channel="pigeon"),
                 self.store.insert(connection, type="thing.happened", payload="{}", tenant="nobody"),
                 self.store.insert(connection, type="never.heard.of", payload="{}")]
        good = self.store.insert(connection, type="thing.happened", payload="{}")
        self.wait_settled()
        found = [self.command("--json", "show", str(each)).stdout for each in wrong]
        states = [(json.loads(text)["state"], json.loads(text)["reason"]["code"]) for text in found]
        self.assertEqual(states, [("failed", "invalid_payload"), ("failed", "invalid_lane"), ("failed", "invalid_channel"),
                                  ("failed", "unknown_tenant"), ("ignored", "no_route")])
        self.assertEqual(self.notification(engine, good)["status"], "delivered")

    def test_a_failing_provider_is_tried_again_with_the_same_key_and_parked_at_the_end(self):
        self.policy = 'kind = "fixed"\ninterval = "50ms"\nmax_attempts = 3\ntimeout = "2s"'
        self.configure()
        self.provider.answer = lambda call: (503, b"busy")
        engine = self.start()
        message = self.send(engine)
        wait_for("parked", lambda: self.notification(engine, message)["status"] == "parked")
        self.assertEqual(len(self.provider.calls), 3)
        self.assertEqual(len({call["key"] for call in self.provider.calls}), 1)
        self.provider.answer = lambda call: (200, b"{}")
        self.assertIn("1 changed", self.command("retry", message, "--why", "it works again").stdout)
        wait_for("delivered", lambda: self.notification(engine, message)["status"] == "delivered")
        self.assertEqual(self.store.query("SELECT action, why FROM postrider.audit"), [("retry", "it works again")])

    def test_an_ignored_message_is_sent_after_a_route_appears_and_it_is_replayed(self):
        self.start().stop()
        engine = self.start()
        message = self.send(engine, type="later.known")
        wait_for("ignored", lambda: self.notification(engine, message)["state"] == "ignored")
        engine.stop()
        self.configure(extra='[[routes]]\ntype = "later.known"\n')
        engine = self.start()
        self.assertIn("1 changed", self.command("replay", message).stdout)
        wait_for("delivered", lambda: self.notification(engine, message)["status"] == "delivered")

    def test_a_message_due_later_waits_and_dispatch_sends_it_now(self):
        engine = self.start()
        message = self.send(engine, due_at="2099-01-01T00:00:00Z")
        wait_for("waiting", lambda: [d["state"] for d in self.notification(engine, message)["deliveries"]] == ["retrying"])
        self.assertEqual(len(self.provider.calls), 0)
        self.command("dispatch", "--message", message)
        wait_for("delivered", lambda: self.notification(engine, message)["status"] == "delivered")

    def hold_calls(self):
        """The provider takes the calls and answers none until it is told to, and then 503."""
        self.policy = 'kind = "fixed"\ninterval = "200ms"\nmax_attempts = 20\ntimeout = "60s"'
        self.configure()
        answer = threading.Event()
        self.addCleanup(answer.set)
        self.provider.answer = lambda call: (answer.wait(60), (503, b"busy"))[1]
        return answer

    def test_what_is_cancelled_while_it_is_being_sent_is_not_tried_again(self):
        answer = self.hold_calls()
        engine = self.start()
        by_api, by_command = self.send(engine), self.send(engine, entity_id="b-7")
        wait_for("both are called", lambda: len(self.provider.calls) == 2)
        status, done = engine.request("POST", f"/api/v1/notifications/{by_api}/cancel", {"why": "the test"})
        self.assertEqual((status, done["changed"], done["marked"]), (200, 1, 1), done)
        self.assertIn("not tried again: 1", self.command("cancel", "--entity", "b-7", "--why", "the test").stdout)
        [delivery] = self.notification(engine, by_api)["deliveries"]
        self.assertEqual((delivery["state"], delivery["reason"]["code"]), ("sending", "cancelled_by_operator"))
        self.assertIn("it is not tried again", self.command("explain", by_api).stdout)
        answer.set()
        for message, reason in (by_api, "cancelled_by_operator"), (by_command, "cancelled_with_entity"):
            wait_for("cancelled", lambda: self.notification(engine, message)["status"] == "cancelled")  # pylint: disable=cell-var-from-loop
            [delivery] = self.notification(engine, message)["deliveries"]
            self.assertEqual((delivery["reason"]["code"], delivery["detail"], len(delivery["attempts"])), (reason, "the test", 1))
        time.sleep(1)
        self.assertEqual(len(self.provider.calls), 2)

    def test_what_is_suppressed_while_it_is_being_sent_is_not_tried_again(self):
        answer = self.hold_calls()
        engine = self.start()
        message = self.send(engine)
        wait_for("it is called", lambda: len(self.provider.calls) == 1)
        [delivery] = self.notification(engine, message)["deliveries"]
        self.command("suppressions", "add", f"webhook={delivery['recipient']}", "--evidence", "the test")
        [delivery] = self.notification(engine, message)["deliveries"]
        self.assertEqual((delivery["state"], delivery["reason"]["code"]), ("sending", "suppressed_address"))
        self.assertIn("it is not tried again", self.command("explain", message).stdout)
        answer.set()
        wait_for("suppressed", lambda: self.notification(engine, message)["status"] == "suppressed")
        [delivery] = self.notification(engine, message)["deliveries"]
        self.assertEqual((delivery["reason"]["code"], len(delivery["attempts"])), ("suppressed_address", 1))
        time.sleep(1)
        self.assertEqual(len(self.provider.calls), 1)

    def test_no_transaction_is_open_while_a_provider_is_called(self):
        self.hold_calls()
        engine = self.start()
        self.send(engine)
        wait_for("it is called", lambda: self.provider.calls)
        time.sleep(0.5)
        # Heartbeats and looks for work come and go: of many looks most must find nothing open, none of them for long.
        looks = [time.sleep(0.05) or self.store.has_open_transaction() for _ in range(20)]
        self.assertLess(sum(looks), 10, looks)
        self.assertEqual(len(self.provider.calls), 1, "the call was open all the time")

    def test_what_was_cancelled_while_it_was_being_sent_stays_so_when_its_node_dies(self):
        answer = self.hold_calls()
        engine = self.start()
        message, other = self.send(engine), self.send(engine)
        wait_for("both are called", lambda: len(self.provider.calls) == 2)
        self.assertIn("1 being sent: not tried again", self.command("cancel", message).stdout)
        engine.kill()
        self.provider.answer = lambda call: (200, b"{}")
        answer.set()
        engine = self.start()
        wait_for("the other one is repeated", lambda: self.notification(engine, other)["status"] == "delivered", 60)
        wait_for("cancelled", lambda: self.notification(engine, message)["status"] == "cancelled")
        [delivery] = self.notification(engine, message)["deliveries"]
        self.assertEqual([each["outcome"] for each in delivery["attempts"]], ["unclear"])
        self.assertEqual(self.provider.effects()[message], 1)

    def test_dispatch_reaches_a_message_to_a_list_that_is_due_later(self):
        engine = self.start()
        self.assertEqual(engine.request("PUT", "/api/v1/lists/hooks", {})[0], 201)
        member = {"channel": "webhook", "address": self.provider.url}
        self.assertLess(engine.request("POST", "/api/v1/lists/hooks/members", {"members": [member]})[0], 300)
        message = self.send(engine, channel="webhook", list="hooks", body="{}", due_at="2099-01-01T00:00:00Z")
        wait_for("it waits", lambda: self.notification(engine, message)["next_attempt_at"])
        self.assertIn("1 matching, 0 changed (dry run)", self.command("dispatch", "--message", message, "--dry-run").stdout)
        self.assertIn("1 matching, 1 changed", self.command("dispatch", "--message", message).stdout)
        wait_for("delivered", lambda: self.notification(engine, message)["status"] == "delivered")

    def test_the_command_tells_once_more_what_was_told(self):
        engine = self.start()
        first = self.send(engine, entity_id="b-7", payload={"n": 1})
        wait_for("delivered", lambda: self.notification(engine, first)["status"] == "delivered")
        again = json.loads(self.command("--json", "resend", "b-7", "--channel", "webhook", "--request-id", "r-1", "--why", "asked").stdout)
        self.assertEqual((again["idempotency_key"], again["duplicate"]), ("manual:b-7:webhook:event:r-1", False))
        wait_for("told again", lambda: self.notification(engine, again["id"])["status"] == "delivered")
        self.assertEqual(len(self.provider.calls), 2)
        repeated = self.command("resend", "b-7", "--channel", "webhook", "--request-id", "r-1")
        self.assertEqual((repeated.stdout.strip(), repeated.stderr.count("nothing new")), (again["id"], 1))
        self.assertEqual(self.notification(engine, first)["deliveries"][0]["attempt_count"], 1, "the first stays as it is")
        self.assertEqual([row[:2] for row in self.store.query("SELECT action, why, actor FROM postrider.audit")], [("resend", "asked")])
        self.assertIn("nothing that could be sent again is known about b-8", self.command("resend", "b-8", "--channel", "webhook", code=1).stderr)
        self.assertIn("is not a channel", self.command("resend", "b-7", "--channel", "smoke", code=1).stderr)

    def test_an_expired_message_is_never_sent(self):
        self.provider.answer = lambda call: (503, b"")
        engine = self.start()
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
        message = self.send(engine, expires_at=soon)
        wait_for("expired", lambda: self.notification(engine, message)["status"] == "expired", 15)
        calls = len(self.provider.calls)
        time.sleep(0.5)
        self.assertEqual(len(self.provider.calls), calls)

    def test_one_event_with_many_recipients_becomes_one_delivery_each_in_chunks(self):
        self.configure(extra='[[routes]]\ntype = "to.many"\nrecipients = { webhook = "urls[]" }\n')
        engine = self.start()
        urls = [f"{self.provider.url}/{number}" for number in range(1200)]
        message = self.send(engine, type="to.many", entity_id="m-1", payload={"urls": urls + urls[:5]})
        wait_for("all posted", lambda: len(self.provider.calls) >= 1200, 60)
        self.wait_settled()
        self.assertEqual(len({call["path"] for call in self.provider.calls}), 1200)
        self.assertEqual(len(self.provider.calls), 1200)
        self.assertEqual(self.notification(engine, message)["state"], "expanded")

    def test_sigterm_under_load_loses_nothing_and_takes_less_than_15_seconds(self):
        self.provider.answer = lambda call: time.sleep(0.2) or (200, b"{}")
        engine = self.start()
        for _ in range(10):
            engine.request("POST", "/api/v1/messages", [{"type": "thing.happened", "payload": {}} for _ in range(100)])
        wait_for("it is sending", lambda: len(self.provider.calls) > 10)
        self.assertLess(engine.stop(), 15)
        self.assertEqual(self.store.query("SELECT count(*) FROM postrider.queue WHERE node <> 0")[0][0], 0)
        self.provider.answer = lambda call: (200, b"{}")
        self.start()
        self.wait_settled()
        self.assertEqual(sorted(self.provider.effects().values()), [1] * 1000)

    def test_every_command_has_help_and_answers_in_json(self):
        engine = self.start()
        message = self.send(engine)
        self.wait_settled()
        for command in ["serve", "migrate", "send", "show", "list", "explain", "retry", "discard", "cancel", "replay", "dispatch", "resend", "keys",
                        "doctor", "config", "version"]:
            self.assertIn("--help", self.command(command, "--help").stdout)
        for arguments in [["list"], ["show", message], ["explain", message], ["doctor"], ["config", "check"], ["version"], ["keys", "list"],
                          ["send", "thing.happened"], ["migrate"]]:
            json.loads(self.command("--json", *arguments).stdout)
        self.assertEqual(self.command("show", "nonsense", code=1).stderr.count("\n"), 1)
        key = self.command("keys", "create", "ci", "--role", "producer").stdout.strip()
        wait_for("the new key is known", lambda: engine.request("GET", "/api/v1/notifications", key=key)[0] == 403, 10)


class OnSqlite(Spine, harness.Case):
    store_kind = harness.Sqlite

    def test_a_second_engine_on_the_same_file_refuses_to_start(self):
        self.start()
        second = self.start(ready=False)
        self.assertEqual(second.process.wait(20), 1)
        self.assertIn("another", second.text().lower())

    def test_a_command_that_fails_says_so_in_one_line_and_leaves_nothing_behind(self):
        self.home = os.path.join(self.home, "nowhere")
        for arguments, code, words in [(["frob"], 2, "frob"), ([], 2, "subcommand"), (["list", "--limit", "many"], 2, "--limit"),
                                       (["show", "01a1e66b-7c4f-7706-974e-a74b3c959926"], 1, "there is no database"), (["list"], 1, "postrider migrate")]:
            said = self.command(*arguments, code=code)
            self.assertEqual((said.stdout, said.stderr.count("\n")), ("", 1), said.stderr)
            self.assertIn(words, said.stderr)
        self.assertIn("there is no database", self.command("doctor", code=1).stdout)
        self.assertFalse(os.path.exists(self.home))

    def test_the_demo_runs_and_its_two_commands_work(self):
        os.remove(os.path.join(self.home, "postrider.toml"))
        engine = self.start("--demo")
        lines = [line.strip() for line in engine.text().splitlines() if line.strip().startswith("curl")]
        self.assertEqual(len(lines), 2)
        sent = json.loads(subprocess.run(["bash", "-c", lines[0]], capture_output=True, text=True, check=True).stdout)
        wait_for("both sandboxes have it", lambda: len(engine.request("GET", "/api/v1/sandbox/messages")[1]["messages"]) == 2)
        seen = json.loads(subprocess.run(["bash", "-c", lines[1]], capture_output=True, text=True, check=True).stdout)
        self.assertIn(sent["id"], json.dumps(seen))
        self.assertEqual(os.stat(os.path.join(self.home, "admin.key")).st_mode & 0o777, 0o600)

    def test_the_application_may_keep_its_own_tables_in_the_same_file(self):
        self.configure(store_options="shared_with_application = true")
        self.start()
        connection = self.store.connect()
        connection.execute("CREATE TABLE booking (id TEXT PRIMARY KEY, status TEXT)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO booking VALUES ('b-1', 'confirmed')")
        connection.execute("INSERT INTO postrider_outbox (type, payload, entity_id) VALUES ('thing.happened', '{}', 'b-1')")
        connection.execute("COMMIT")
        wait_for("the POST", lambda: len(self.provider.calls) == 1)


class OnPostgres(Spine, harness.Case):
    store_kind = harness.Postgres

    def test_two_nodes_share_the_work_and_one_takes_over_what_a_killed_one_held(self):
        self.provider.answer = lambda call: time.sleep(0.05) or (200, b"{}")
        first, second = self.start(), self.start()
        for _ in range(10):
            first.request("POST", "/api/v1/messages", [{"type": "thing.happened", "payload": {}} for _ in range(100)])
        wait_for("both send", lambda: len(self.provider.calls) > 200)
        first.kill()
        killed = time.monotonic()
        wait_for("the work of the dead node resumes", lambda: self.store.query(
            "SELECT count(*) FROM postrider.queue q WHERE q.node <> 0 AND NOT EXISTS (SELECT 1 FROM postrider.node n WHERE n.id = q.node)"
        )[0][0] == 0 and self.store.query("SELECT count(*) FROM postrider.node")[0][0] == 1, 15)
        self.assertLess(time.monotonic() - killed, 10)
        self.wait_settled()
        self.assertEqual(len(self.provider.effects()), 1000)
        nodes = self.store.query("SELECT count(DISTINCT node) FROM postrider.attempt WHERE outcome = 1")[0][0]
        self.assertEqual(nodes, 2)
        second.stop()

    def test_roles_run_in_processes_of_their_own(self):
        api = self.start("--roles", "api")
        self.start("--roles", "expand")
        self.start("--roles", "send")
        self.start("--roles", "maintain")
        message = self.send(api)
        wait_for("delivered", lambda: self.notification(api, message)["status"] == "delivered")

    def test_postgres_gone_at_the_start_is_a_clear_error(self):
        self.store.url = "postgresql://postgres@127.0.0.1:1/none"
        self.configure()
        engine = self.start(ready=False)
        self.assertEqual(engine.process.wait(20), 1)
        self.assertIn("PostgreSQL cannot be reached", engine.text())

    def test_cut_connections_are_made_again_and_nothing_is_lost(self):
        engine = self.start()
        sent = set()
        for _ in range(5):
            for _ in range(20):
                with contextlib.suppress(OSError):  # an engine that starts anew is away for a moment
                    status, answer = engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {}})
                    if status == 202:
                        sent.add(answer["id"])
            self.store.admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.store.database}' "
                             "AND application_name = 'postrider'")
            time.sleep(0.3)
        wait_for("it answers again", lambda: self.answers(engine), 30, 0.2)
        self.wait_settled(60)
        self.assertEqual(sent - set(self.provider.effects()), set())
        self.assertGreater(len(sent), 20)

    def answers(self, engine):
        try:
            return engine.request("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def test_a_read_only_database_accepts_nothing_and_resumes_afterwards(self):
        engine = self.start()
        self.store.admin(f"ALTER DATABASE {self.store.database} SET default_transaction_read_only = on")
        self.store.admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.store.database}'")
        wait_for("refused", lambda: self.refused(engine), 20, 0.2)
        self.store.admin(f"ALTER DATABASE {self.store.database} RESET default_transaction_read_only")
        self.store.admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.store.database}'")
        wait_for("accepted again", lambda: not self.refused(engine), 30, 0.2)

    def refused(self, engine):
        try:
            status, answer = engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {}})
        except OSError:
            return True
        if status != 202:
            self.assertEqual((status, answer["error"]["code"]), (503, "STORE_UNAVAILABLE"))
        return status != 202


if __name__ == "__main__":
    sys.exit(harness.main())
