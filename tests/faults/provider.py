#!/usr/bin/python3
"""A provider's cloud with a ledger of its own: one line for each call, on disk (O_DSYNC) before anything is done about it.

  provider.py --port PORT --ledger FILE [--seed N] [--mode MODE]

A line is JSON: when, the idempotency key, the webhook-id, the message, the hash of the body, whether it acted, and what it did then:
"200", "500", "429", "drop" (the connection) or "hang" (no answer, ever). Modes, changed by POST /mode/NAME:

  well    acts and answers 200
  harsh   mostly that; some calls are refused, some are acted on and then answered 500, dropped or never answered
  hang    acts and never answers

What happens to the nth call for a message depends on the seed, the message and n alone, so that a run can be repeated.
"""
import argparse
import hashlib
import json
import os
import selectors
import socket
import struct
import sys
import time

# (of a thousand calls, acted, then)
HARSH = [(30, True, "500"), (20, False, "500"), (50, False, "429"), (30, True, "drop"), (20, False, "drop"), (15, True, "hang")]
ANSWERS = {
    "200": b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"id":"ok"}',
    "500": b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
    "429": b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n",
}


class Provider:
    def __init__(self, options):
        self.seed = options.seed
        self.mode = options.mode
        self.calls_of = {}
        self.ledger = os.open(options.ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_DSYNC, 0o644)
        self.selector = selectors.DefaultSelector()
        self.buffers = {}
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", options.port))
        self.listener.listen(512)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)

    def run(self):
        while True:
            calls = []
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self.accept()
                else:
                    calls += self.read(key.fileobj)
            if calls:
                os.write(self.ledger, b"".join(line for _, line, _ in calls))
                for connection, _, then in calls:
                    self.answer(connection, then)

    def accept(self):
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffers[connection] = b""
        self.selector.register(connection, selectors.EVENT_READ)

    def read(self, connection):
        """The complete calls that arrived on the connection."""
        try:
            data = connection.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self.close(connection)
            return []
        self.buffers[connection] += data
        calls = []
        while (request := self.cut_request(connection)) is not None:
            path, headers, body = request
            if path.startswith("/mode/"):
                self.mode = path[len("/mode/"):]
                self.answer(connection, "200")
            else:
                line, then = self.judge(headers, body)
                calls.append((connection, line, then))
        return calls

    def cut_request(self, connection):
        head, found, rest = self.buffers[connection].partition(b"\r\n\r\n")
        if not found:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", 0))
        if len(rest) < size:
            return None
        self.buffers[connection] = rest[size:]
        return first.split(" ")[1], headers, rest[:size]

    def judge(self, headers, body):
        try:
            message = json.loads(body)["id"]
        except (ValueError, KeyError, TypeError):
            message = None
        number = self.calls_of[message] = self.calls_of.get(message, 0) + 1
        acted, then = self.decide(message, number)
        line = json.dumps({"t": time.time_ns() // 1000, "key": headers.get("idempotency-key"), "webhook": headers.get("webhook-id"),
                           "message": message, "body": hashlib.sha256(body).hexdigest()[:32], "acted": acted, "then": then})
        return line.encode() + b"\n", then

    def decide(self, message, number):
        if self.mode == "hang":
            return True, "hang"
        if self.mode == "harsh":
            digest = hashlib.sha256(f"{self.seed} {message} {number}".encode()).digest()
            draw = int.from_bytes(digest[:4], "big") % 1000
            for share, acted, then in HARSH:
                if draw < share:
                    return acted, then
                draw -= share
        return True, "200"

    def answer(self, connection, then):
        if connection not in self.buffers or then == "hang":
            return
        if then == "drop":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close(connection)
            return
        try:
            connection.send(ANSWERS[then])
        except OSError:  # the engine was killed: that is the test
            self.close(connection)

    def close(self, connection):
        if self.buffers.pop(connection, None) is not None:
            self.selector.unregister(connection)
            connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", default="harsh", choices=["well", "harsh", "hang"])
    Provider(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
