#!/usr/bin/python3
"""Providers as they are at their worst, mail over real SMTP, the shim, and stores that run out of room or break."""
import asyncio
import os
import resource
import socket
import subprocess
import sys
import threading
import time

import harness
from harness import wait_for


class Peer:
    """A TCP peer that treats every connection as told."""

    def __init__(self, treat):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}/"
        self.treat = treat
        self.count = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(65536)
            self.treat(connection)
        except OSError:
            pass

    def close(self):
        self.server.close()


def hang(connection):
    time.sleep(30)


def drip(connection):
    for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n" + b"x" * 1000:
        connection.send(bytes([byte]))
        time.sleep(0.2)


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    connection.close()


def garbage(connection):
    connection.sendall(b"\x00\x01\x02 this is not HTTP\r\n\r\n")
    connection.close()


def endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def wrong_length(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello")
    connection.close()


def redirect(connection):
    connection.sendall(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/internal\r\ncontent-length: 0\r\n\r\n")


class BadProviders(harness.Case):
    policy = 'kind = "fixed"\ninterval = "50ms"\nmax_attempts = 2\ntimeout = "500ms"'

    def story(self, treat, guarantee="at_least_once"):
        peer = Peer(treat)
        self.addCleanup(peer.close)
        self.configure(provider=f'type = "webhook"\nurl = "{peer.url}"\nallow_internal = true',
                       extra=f'[[routes]]\ntype = "careful"\nguarantee = "{guarantee}"\n')
        engine = self.start()
        message = self.send(engine, type="careful")
        wait_for("it ends", lambda: self.notification(engine, message)["status"] in ("parked", "delivered"), 20)
        delivery = self.notification(engine, message)["deliveries"][0]
        memory = int(open(f"/proc/{engine.process.pid}/status", encoding="ascii").read().split("VmRSS:")[1].split()[0])
        engine.stop()
        self.assertLess(memory, 200_000, "memory stays bounded")
        return delivery, [(a["outcome"], a["reason"]["code"]) for a in delivery["attempts"]], peer

    def test_a_provider_that_hangs(self):
        delivery, attempts, _ = self.story(hang)
        self.assertEqual(attempts, [("unclear", "timeout")] * 2)
        self.assertEqual((delivery["state"], delivery["reason"]["code"]), ("parked", "retries_used_up"))

    def test_a_provider_that_hangs_is_called_once_under_at_most_once(self):
        delivery, attempts, peer = self.story(hang, "at_most_once")
        self.assertEqual(attempts, [("unclear", "timeout")])
        self.assertEqual(delivery["reason"]["code"], "unclear_not_repeated")
        self.assertEqual(peer.count, 1)

    def test_a_provider_that_drips(self):
        self.assertEqual(self.story(drip)[1], [("unclear", "timeout")] * 2)

    def test_a_provider_that_resets(self):
        self.assertEqual(self.story(reset)[1], [("unclear", "connection_lost")] * 2)

    def test_a_provider_that_answers_garbage(self):
        self.assertEqual(self.story(garbage)[1], [("unclear", "garbage_answer")] * 2)

    def test_a_provider_with_two_lengths(self):
        self.assertEqual(self.story(wrong_length)[1], [("unclear", "garbage_answer")] * 2)

    def test_a_provider_that_answers_ten_gigabytes(self):
        delivery, attempts, _ = self.story(endless)
        self.assertEqual((delivery["state"], attempts[0][0]), ("delivered", "accepted"))

    def test_a_redirect_to_an_internal_address_is_not_followed(self):
        delivery, attempts, _ = self.story(redirect)
        self.assertEqual((delivery["state"], attempts), ("parked", [("permanent", "request_refused")]))

    def test_an_internal_address_is_refused_unless_allowed(self):
        self.configure(provider=f'type = "webhook"\nurl = "{self.provider.url}"')
        engine = self.start()
        message = self.send(engine)
        wait_for("it ends", lambda: self.notification(engine, message)["status"] == "parked")
        self.assertEqual(self.notification(engine, message)["deliveries"][0]["reason"]["code"], "forbidden_address")
        self.assertEqual(len(self.provider.calls), 0)

    def test_a_hung_provider_holds_up_only_itself(self):
        peer = Peer(hang)
        self.addCleanup(peer.close)
        self.policy = 'kind = "fixed"\ninterval = "1s"\nmax_attempts = 3\ntimeout = "20s"'
        self.configure(extra=f"""
[[tenants]]
name = "default"
[[tenants]]
name = "stuck"
channels = {{ webhook = ["hung"] }}
[providers.hung]
type = "webhook"
url = "{peer.url}"
allow_internal = true
""")
        engine = self.start()
        self.store.query("SELECT 1")
        connection = self.store.connect()
        for _ in range(300):
            self.store.insert(connection, type="thing.happened", payload="{}", tenant="stuck")
        wait_for("the hung one is busy", lambda: peer.count > 10)
        begun = time.monotonic()
        message = self.send(engine)
        wait_for("the other goes through", lambda: self.notification(engine, message)["status"] == "delivered", 5)
        self.assertLess(time.monotonic() - begun, 2)


class Mail(harness.Case):
    def test_mail_goes_out_over_smtp_with_text_and_html(self):
        server = harness.MailServer(refuse=lambda address: "550 5.1.1 no such user" if address.startswith("nobody") else None)
        self.addCleanup(server.close)
        self.configure(extra=f"""
[providers.mail]
{server.settings()}
[[templates]]
key = "hello"
type = "hello.said"
channel = "email"
subject = "Hello {{{{name}}}}"
body = "Dear {{{{name}}}}"
html = "<p>Dear {{{{name}}}}</p>"
""")
        text = open(os.path.join(self.home, "postrider.toml"), encoding="utf-8").read()
        with open(os.path.join(self.home, "postrider.toml"), "w", encoding="utf-8") as file:
            file.write(text.replace('webhook = ["hook"]', 'webhook = ["hook"]\nemail = ["mail"]'))
        engine = self.start()
        good = self.send(engine, type="hello.said", payload={"email": "ada@example.org", "name": "Ada\r\nBcc: evil@example.org"})
        bad = self.send(engine, type="hello.said", payload={"email": "nobody@example.org", "name": "x"})
        evil = self.send(engine, type="hello.said", payload={"email": "a@example.org>\r\nRCPT TO:<evil@example.org", "name": "x"})
        wait_for("sent", lambda: self.notification(engine, good)["status"] == "delivered")
        wait_for("refused", lambda: self.notification(engine, bad)["status"] == "parked")
        self.assertEqual(self.notification(engine, bad)["deliveries"][0]["reason"]["code"], "invalid_recipient")
        wait_for("nobody", lambda: self.notification(engine, evil)["reason"]["code"] == "no_recipient")
        self.assertEqual(len(server.mails), 1)
        mail = server.mails[0]
        self.assertEqual((mail["from"], mail["to"]), ("noreply@example.org", ["ada@example.org"]))
        parsed = mail["message"]
        self.assertNotIn("Bcc", parsed)
        self.assertEqual(parsed.get_content_type(), "multipart/alternative")
        self.assertTrue(parsed["Message-ID"].endswith("@example.org>"))
        self.assertIn("Dear Ada", parsed.get_payload()[0].get_payload(decode=True).decode())


class Shim(harness.Case):
    policy = 'preset = "ladder"'

    def test_the_shim_fails_on_what_it_is_told_and_has_one_effect_per_key(self):
        self.configure(provider='type = "shim"\nchannel = "webhook"')
        engine = self.start(environment={"POSTRIDER_FAIL_ON": "thing.happened"})
        message = self.send(engine, channel="webhook", recipient="https://example.org/x")
        wait_for("retrying", lambda: self.notification(engine, message)["status"] == "retrying")
        engine.stop()
        engine = self.start()
        self.command("dispatch")
        wait_for("delivered", lambda: self.notification(engine, message)["status"] == "delivered")
        self.assertEqual(len(engine.request("GET", "/api/v1/sandbox/messages")[1]["messages"]), 1)


class BrokenStores(harness.Case):
    def test_a_corrupt_file_is_a_clear_error(self):
        self.start().stop()
        with open(self.store.path, "r+b") as file:
            file.write(b"this is not a database at all" * 100)
        engine = self.start(ready=False)
        self.assertEqual(engine.process.wait(20), 1)
        self.assertIn("postrider.db", engine.text())

    def test_a_full_disk_refuses_messages_clearly_and_accepts_them_again(self):
        limit = 4_000_000
        engine = harness.Engine.__new__(harness.Engine)
        engine.home, engine.port = self.home, harness.free_port()
        engine.log_path = os.path.join("/tmp", f"postrider-full-{os.getpid()}.log")
        engine.log = open(engine.log_path, "wb")
        self.addCleanup(os.remove, engine.log_path)

        def small_files():
            import signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        engine.process = subprocess.Popen([harness.BINARY, "--home", self.home, "serve", "--listen", f"127.0.0.1:{engine.port}"],
                                          stdout=engine.log, stderr=engine.log, preexec_fn=small_files)
        self.engines.append(engine)
        engine.ready()
        self.provider.answer = lambda call: (503, b"")
        accepted, refused = [], None
        for number in range(400):
            status, answer = engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {"filler": "x" * 40_000}})
            if status == 202:
                accepted.append(answer["id"])
            else:
                refused = (status, answer["error"]["code"])
                break
        self.assertIsNotNone(refused, "the disk never became full")
        self.assertIn(refused[0], (503, 507))
        self.assertIsNone(engine.process.poll(), "the engine lives on")
        resource.prlimit(engine.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.provider.answer = lambda call: (200, b"{}")
        wait_for("accepted again", lambda: engine.request("POST", "/api/v1/messages", {"type": "thing.happened", "payload": {}})[0] == 202, 20, 0.2)
        self.wait_settled()
        self.assertEqual(set(accepted) - set(self.provider.effects()), set())


if __name__ == "__main__":
    asyncio.set_event_loop(asyncio.new_event_loop())
    sys.exit(harness.main())
