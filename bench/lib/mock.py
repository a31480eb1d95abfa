"""The provider's side: nginx, which answers at once and counts, for throughput; arrivals.py, which notes when each request came."""
import os
import socket
import subprocess
import time

from harness import free_port  # of tests/e2e
from lib import machine


SLEEPS = "/usr/lib/nginx/modules/ngx_http_echo_module.so"  # comes with Debian's nginx-light
SLOW_SECONDS = 0.01


class Nginx:
    """Answers every POST with 200 {"id":"ok"}, at slow_url after SLOW_SECONDS. requests() is nginx's own count, without our looking."""

    def __init__(self, folder):
        self.folder, self.port = f"{folder}/nginx", free_port()
        os.makedirs(self.folder)
        self.url = f"http://127.0.0.1:{self.port}/in"
        self.slow_url = f"http://127.0.0.1:{self.port}/slow"
        with open(f"{self.folder}/nginx.conf", "w", encoding="ascii") as file:
            file.write(f"""load_module {SLEEPS};
daemon off; worker_processes 1; pid {self.folder}/nginx.pid; error_log {self.folder}/error.log;
events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path {self.folder}/b; proxy_temp_path {self.folder}/p; fastcgi_temp_path {self.folder}/f;
uwsgi_temp_path {self.folder}/u; scgi_temp_path {self.folder}/s; keepalive_requests 100000000; keepalive_timeout 6h;
server {{ listen 127.0.0.1:{self.port} backlog=2048;
location = /slow {{ default_type application/json; echo_sleep {SLOW_SECONDS}; echo '{{"id":"ok"}}'; }}
location = /status {{ stub_status; }}
location / {{ default_type application/json; return 200 '{{"id":"ok"}}'; }} }} }}
""")
        self.process = subprocess.Popen(["/usr/sbin/nginx", "-p", self.folder, "-c", f"{self.folder}/nginx.conf"], stderr=subprocess.DEVNULL)
        self.connection, self.looks = None, 0
        until = time.monotonic() + 10
        while self.connection is None:
            try:
                self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise RuntimeError("nginx did not start")
                time.sleep(0.01)
        self.mark()

    def requests_raw(self):
        self.connection.sendall(b"GET /status HTTP/1.1\r\nHost: mock\r\n\r\n")
        text = b""
        while b"Waiting:" not in text:
            piece = self.connection.recv(4096)
            if not piece:
                raise RuntimeError("nginx closed the connection")
            text += piece
        self.looks += 1
        lines = text.split(b"server accepts handled requests")[1].split()
        return int(lines[2]) - self.looks

    def mark(self):
        self.base = self.requests_raw()

    def requests(self):
        """POSTs since mark()."""
        return self.requests_raw() - self.base

    def wait_for(self, count, seconds, every=0.02, alive=None):
        """Waits until that many POSTs were served; raises Refused when nothing has come for long or the sender is gone."""
        until = time.monotonic() + seconds
        while (served := self.requests()) < count:
            if time.monotonic() > until:
                raise machine.Refused(f"only {served} of {count} requests within {seconds} s")
            if alive is not None and not alive():
                raise machine.Refused(f"the sender ended after {served} of {count} requests")
            time.sleep(every)
        return served

    def close(self):
        self.connection.close()
        machine.end(self.process)
