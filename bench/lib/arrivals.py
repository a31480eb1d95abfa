"""A provider that notes when the bytes of each request were read: a process of its own, so that the producer's work does not delay it.

usage: arrivals.py PORT. Each request's body ends with "Reference: NUMBER". When its input is closed it prints NUMBER NANOSECONDS
(CLOCK_MONOTONIC) per line."""
import selectors
import socket
import sys
import time

ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"id":"ok"}'


def length_of(head):
    for line in head.split(b"\r\n"):
        if line[:15].lower() == b"content-length:":
            return int(line[15:])
    return 0


def main():
    look, arrived, held = selectors.DefaultSelector(), [], {}
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
    look.register(listener, selectors.EVENT_READ)
    look.register(sys.stdin, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in look.select():
            source = key.fileobj
            if source is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                look.register(connection, selectors.EVENT_READ)
                held[connection] = [b"", 0]
            elif source is sys.stdin:
                sys.stdout.write("".join(f"{number} {at}\n" for number, at in arrived))
                return
            else:
                piece, now = source.recv(65536), time.monotonic_ns()
                if not piece:
                    look.unregister(source)
                    source.close()
                    del held[source]
                    continue
                state = held[source]
                if not state[0]:
                    state[1] = now  # the first bytes of this request
                state[0] += piece
                head, separator, body = state[0].partition(b"\r\n\r\n")
                if separator and len(body) >= length_of(head):
                    source.sendall(ANSWER)
                    arrived.append((int(body.rsplit(b" ", 1)[1]), state[1]))
                    state[0] = b""


if __name__ == "__main__":
    main()
