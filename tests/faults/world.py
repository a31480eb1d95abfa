"""What all fault drivers share: a folder with a store, a provider, a client and engines in it; healing, coming to rest, and the verdict.

A driver is a program with options; `main` gives them --seed, --keep and --rate, turns an exception into one FAILED line with the command
that repeats it, and keeps the folder of a failed run where --keep says."""
import argparse
import contextlib
import http.client
import itertools
import os
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BINARY = os.environ.get("POSTRIDER_BIN", os.path.join(ROOT, "build/release/postrider"))
FAULTS_BINARY = os.environ.get("POSTRIDER_FAULTS_BIN", os.path.join(ROOT, "build/release/postrider-faults"))
SERVER_URL = os.environ.get("POSTRIDER_TEST_PG", "")
ATTEMPTS_MAX = 20
SKIPPED = 77  # what ctest takes for a skipped test

CONFIGURATION = """
[store]
url = "{url}"
shared_with_application = true
[providers.hook]
type = "webhook"
url = "http://127.0.0.1:{port}/in"
allow_internal = true
connections = 16
[channels]
webhook = ["hook"]
[[routes]]
type = "thing.happened"
[[routes]]
type = "code.issued"
guarantee = "at_most_once"
[[policies]]
kind = "fixed"
interval = "100ms"
max_attempts = {attempts}
timeout = "1s"
"""


# Children end with their driver, however that ends. It execs, so the process is the program's own.
OURS = ["setpriv", "--pdeathsig", "KILL", "--"]


class Failed(Exception):
    """The run broke a promise; the text says which."""


ports = itertools.count(20000 + os.getpid() * 61 % 9000)  # drivers that were started together begin far from each other


def free_port():
    """A port that is free now and was not given before, below the range that outgoing connections use."""
    for port in ports:
        if port >= 32000:
            raise RuntimeError("no free port")
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def memory_folder():
    """Where files lie that need no disk: what a process wrote stays when it is killed, and a copied device is what it was told."""
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def wait_for(what, condition, seconds=30.0, every=0.01):
    """Waits until the condition gives something true, and gives it back."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(every)


def psql(url, sql):
    """The rows, as lists of texts."""
    done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql, url], capture_output=True,
                          text=True, timeout=60)
    if done.returncode != 0:
        raise OSError(done.stderr.strip())
    return [line.split("\t") for line in done.stdout.splitlines() if line]


class SqliteStore:
    name = "sqlite"

    def __init__(self, path):
        self.path = path
        self.url = "sqlite:" + path

    def numbers(self, sql):
        """The first row as numbers, of SQL that is written with PostgreSQL's names."""
        connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=20)
        try:
            return [int(value) for value in connection.execute(sql.replace("postrider.", "postrider_")).fetchone()]
        finally:
            connection.close()

    def keep(self, folder):
        pass  # it is in the world's folder

    def close(self):
        pass


class PostgresStore:
    """A database on the server that tools/with-postgres gives, or on another one: a new one, or one that is there."""
    name = "postgres"
    numbers_given = itertools.count(1)

    def __init__(self, server_url=None, database=None):
        self.server_url = server_url or SERVER_URL
        if not self.server_url:
            sys.exit("POSTRIDER_TEST_PG is not set: run this under tools/with-postgres")
        self.database = database or f"postrider_faults_{os.getpid()}_{next(self.numbers_given)}"
        if database is None:
            psql(self.server_url, f"CREATE DATABASE {self.database}")
        self.url = self.server_url.rsplit("/", 1)[0] + "/" + self.database

    def numbers(self, sql):
        return [int(value) for value in psql(self.url, sql)[0]]

    def keep(self, folder):
        with open(os.path.join(folder, "database.sql"), "wb") as file:
            subprocess.run(["pg_dump", self.url], stdout=file, check=False)

    def close(self):
        # The server goes with the run anyway. It waits for every one of its processes, also for one that reads rows from a node that is stopped.
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            psql(self.server_url, f"DROP DATABASE IF EXISTS {self.database} WITH (FORCE)")


class Engine:
    """One process of the real program."""

    def __init__(self, world, port, binary=BINARY, environment=None):
        self.port = port
        self.log_path = os.path.join(world.home, f"engine-{port}.log")
        self.begins_at = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([*OURS, binary, "--home", world.home, "serve", "--listen", f"127.0.0.1:{port}"], stdout=log, stderr=log,
                                            env={**os.environ, **(environment or {})})

    def text(self):
        with open(self.log_path, "rb") as log:
            log.seek(self.begins_at)
            return log.read().decode("utf-8", "replace")

    def alive(self):
        return self.process.poll() is None

    def ready(self, seconds=30):
        def look():
            if not self.alive():
                raise Failed(f"the engine ended with {self.process.returncode}: {self.text()[-600:]}")
            return "postrider ready" in self.text()

        wait_for("the engine is ready", look, seconds, 0.005)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def died_by_kill(self, seconds):
        """Whether it was killed within the time; any other end is a failure."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        if code != -signal.SIGKILL:
            raise Failed(f"the engine ended with {code}: {self.text()[-600:]}")
        return True


class World:
    """One store (without one: SQLite in the home folder), its provider and its client, and the engines that a driver starts."""

    def __init__(self, store, options, seed, home=None, provider_port=None):
        self.options, self.seed = options, seed
        self.folder = tempfile.mkdtemp(prefix="postrider-faults-", dir=memory_folder())
        self.home = home or os.path.join(self.folder, "home")
        os.makedirs(self.home, exist_ok=True)
        self.store = store or SqliteStore(os.path.join(self.home, "postrider.db"))
        self.client_ledger = os.path.join(self.folder, "client.ledger")
        self.provider_ledger = os.path.join(self.folder, "provider.ledger")
        self.provider_port = provider_port or free_port()
        self.provider = None
        self.client = None
        self.engines = []
        self.ports = [free_port(), free_port()]
        with open(os.path.join(self.home, "postrider.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(url=self.store.url, port=self.provider_port, attempts=ATTEMPTS_MAX))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.end_processes()
        if kind is not None and self.options.keep:
            self.keep()
        self.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_processes(self):
        processes = [engine.process for engine in self.engines] + [self.provider, self.client]
        for process in processes:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()

    def keep(self):
        self.store.keep(self.folder)
        os.makedirs(self.options.keep, exist_ok=True)
        place = tempfile.mkdtemp(prefix=f"{os.path.basename(sys.argv[0]).removesuffix('.py')}-{self.seed}-", dir=self.options.keep)
        shutil.copytree(self.folder, place, dirs_exist_ok=True)
        if not self.home.startswith(self.folder):
            shutil.copytree(self.home, os.path.join(place, "home"))
        with open(os.path.join(place, "command"), "w", encoding="utf-8") as file:
            file.write(self.options.replay + "\n")
        print(f"kept in {place}", flush=True)

    # --- who takes part

    def start_provider(self, mode="harsh"):
        self.provider = subprocess.Popen([*OURS, sys.executable, os.path.join(HERE, "provider.py"), "--port", str(self.provider_port), "--ledger",
                                          self.provider_ledger, "--seed", str(self.seed), "--mode", mode])
        wait_for("the provider listens", lambda: self.set_provider(mode), 10)

    def set_provider(self, mode):
        connection = http.client.HTTPConnection("127.0.0.1", self.provider_port, timeout=5)
        try:
            connection.request("POST", f"/mode/{mode}")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def start_client(self, nodes=1, synchronous="FULL"):
        targets = ",".join(f"127.0.0.1:{port}" for port in self.ports[:nodes])
        self.client = subprocess.Popen([*OURS, sys.executable, os.path.join(HERE, "client.py"), "--store", self.store.url, "--targets", targets,
                                        "--api-key", os.path.join(self.home, "admin.key"), "--ledger", self.client_ledger, "--seed",
                                        str(self.seed), "--rate", str(self.options.rate), "--synchronous", synchronous])

    def acknowledged(self):
        """How often the client was told that something is safe."""
        try:
            with open(self.client_ledger, encoding="utf-8") as file:
                text = file.read()
            return text.count('"what": "acked"') + text.count('"what": "committed"')
        except FileNotFoundError:
            return 0

    def wait_for_load(self):
        wait_for("the load runs", lambda: self.acknowledged() > 50, 30)

    def start_engine(self, node=0, binary=BINARY, environment=None):
        engine = Engine(self, self.ports[node], binary, environment)
        self.engines = [each for each in self.engines if each.alive()] + [engine]
        return engine

    # --- the end of a run

    def stop_client(self):
        """Nothing new; what it has not had acknowledged yet it brings to its end."""
        if self.client.poll() is not None:
            raise Failed(f"the client ended by itself with {self.client.returncode}")
        self.client.send_signal(signal.SIGTERM)
        self.client.wait(60)

    def waiting(self):
        """Rows that have not come to rest: in the outbox, in the queue, deferred."""
        return self.store.numbers("SELECT (SELECT count(*) FROM postrider.outbox), (SELECT count(*) FROM postrider.queue), "
                                  "(SELECT count(*) FROM postrider.deferred)")

    def settle(self, seconds=60):
        """Heals the provider, ends the load and waits for rest; gives the seconds that this took."""
        begun = time.monotonic()
        if not self.set_provider("well"):
            raise Failed("the provider does not answer")
        self.stop_client()
        self.rest(seconds)
        return time.monotonic() - begun

    def rest(self, seconds=60):
        wait_for("everything settles after healing", lambda: sum(self.waiting()) == 0, seconds, 0.1)

    def check(self, when="settled"):
        """Runs the checker; gives its last line, and raises with what it found."""
        done = subprocess.run([sys.executable, os.path.join(HERE, "check.py"), "--store", self.store.url, "--client", self.client_ledger,
                               "--provider", self.provider_ledger, "--attempts-max", str(ATTEMPTS_MAX), "--when", when, "--only-violations"],
                              capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise Failed(f"the checker found\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines()[-1].removeprefix("checked: ")


def bound(count, of):
    """The rule of three: what none of so many says, with 95 % confidence."""
    return f"0 of {count}: < {min(100, 300 / count):.3g} % per {of} with 95 % confidence"


def parse(description, add):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add(parser)
    parser.add_argument("--seed", type=int, default=20261115)
    parser.add_argument("--rate", type=float, default=60, help="requests and transactions a second of each client thread")
    parser.add_argument("--keep", help="folder for ledgers, database, logs and command of a run that failed")
    return parser.parse_args()


def main(description, add, run):
    """Parses, runs and gives the exit code."""
    options = parse(description, add)
    options.replay = replay_command(options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything is cleaned up
    begun = time.monotonic()
    try:
        code = run(options) or 0
    except Failed as failure:
        print(f"FAILED: {failure}\nreplay: {options.replay}", flush=True)
        return 1
    print(f"{time.monotonic() - begun:.0f} s", flush=True)
    return code


def replay_command(options, **changed):
    words = [f"POSTRIDER_BIN={BINARY}", f"POSTRIDER_FAULTS_BIN={FAULTS_BINARY}", "tools/with-postgres", "/usr/bin/python3",
             os.path.relpath(os.path.abspath(sys.argv[0]), ROOT)]
    for name, value in {**vars(options), **changed}.items():
        if name in ("replay", "keep") or value is None or value is False:
            continue
        words += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
    return shlex.join(words)
