"""A PostgreSQL of a driver's own, to be stopped, started and cut off as it likes. fsync is on."""
import glob
import os
import shutil
import subprocess

from world import Failed, free_port


def find_programs():
    for folder in [os.environ.get("POSTRIDER_PG_BIN", ""), *sorted(glob.glob("/usr/lib/postgresql/*/bin"))]:
        if os.path.exists(os.path.join(folder, "initdb")):
            return folder
    raise Failed("no PostgreSQL found; run: tools/install-packages test")


class Server:
    """PostgreSQL refuses to run as root, so root lends it another user."""

    def __init__(self, folder):
        self.folder = folder
        self.data = os.path.join(folder, "data")
        self.bin = find_programs()
        self.port = free_port()
        self.prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def initialize(self):
        os.chmod(self.folder, 0o755)
        if self.prefix:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="ascii") as file:
            file.write("listen_addresses = '127.0.0.1'\nmin_wal_size = 32MB\nmax_wal_size = 64MB\nshared_buffers = 16MB\n")
        return self

    def run(self, program, *arguments):
        done = subprocess.run([*self.prefix, os.path.join(self.bin, program), *arguments], capture_output=True, text=True, timeout=60,
                              cwd=self.folder, check=False)
        if done.returncode != 0:
            raise Failed(f"{program} {' '.join(arguments)}: {done.stdout}{done.stderr}{self.log()}")

    def log(self):
        try:
            with open(self.data + ".log", encoding="utf-8", errors="replace") as file:
                return file.read()[-2000:]
        except OSError:
            return ""

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-l", self.data + ".log", "-w", "-t", "50", "-o", f"-p {self.port} -k {self.folder}", "start")

    def stop(self, mode="immediate"):
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def url(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def postmaster(self):
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as file:
            return int(file.readline())


def children_of(parent):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(entry))
        except OSError:
            continue
    return found
