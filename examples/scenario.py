"""What the two stories and their tests share: the files of an example become a home folder with a store behind it, and a story is told in
plain sentences. Engine, stores and waiting are those of the tests."""
import contextlib
import datetime
import json
import os
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.append(os.path.join(ROOT, "tests/e2e"))
sys.dont_write_bytecode = True

import harness  # noqa: E402
from harness import wait_for  # noqa: E402, F401

WIDTH = 100


class Scenario:
    """An example's folder: `configuration` without its providers, `providers.toml`, `schema.sql`, and per tenant a folder of templates."""

    def __init__(self, folder, configuration, database_variable, templates):
        self.folder = os.path.realpath(folder)
        self.configuration = configuration
        self.database_variable = database_variable
        self.templates = templates

    def text(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def configure(self, home, providers=None, extra=""):
        """Which providers serve is a file of its own: another one changes nothing else."""
        parts = [self.text(self.configuration), self.text("providers.toml") if providers is None else providers, extra]
        with open(os.path.join(home, "postrider.toml"), "w", encoding="utf-8") as file:
            file.write("\n".join(parts))

    def prepare(self, home, store):
        """The application's tables, Postrider's beside them, and the templates made live."""
        os.environ[self.database_variable] = store.url
        run(home, "migrate")
        connection = store.connect()
        if store.name == "sqlite":
            connection.executescript(self.text("schema.sql"))
        else:
            connection.cursor().execute(self.text("schema.sql"))
            connection.commit()
        connection.close()
        for tenant, folder in self.templates.items():
            run(home, "templates", "apply", os.path.join(self.folder, folder), "--tenant", tenant)


def run(home, *arguments):
    """One command of the binary; gives what it printed."""
    done = subprocess.run([harness.BINARY, "--home", home, *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"postrider {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


class Story:
    """Tells what happens. Everything that it starts is ended and deleted with it."""

    def __init__(self, scenario, store_kind):
        self.stack = contextlib.ExitStack()
        self.scenario = scenario
        self.home = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="postrider-story-"))
        self.store = store_kind(self.home)
        self.stack.callback(self.store.close)
        self.engine = None
        scenario.configure(self.home)
        scenario.prepare(self.home, self.store)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.stop()
        self.stack.close()

    def start(self, **environment):
        self.engine = harness.Engine(self.home, environment=environment).ready()

    def stop(self):
        if self.engine:
            self.engine.stop()
        self.engine = None

    def ask(self, method, path, body=None, key=None):
        """An answer of the API, shown with the question."""
        status, answer = self.engine.request(method, path, body, key=key)
        print(f"    {method} {path}{' ' + json.dumps(body) if body else ''}  ->  {status}")
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {answer}")
        return answer

    def notification(self, message, key=None):
        status, answer = self.engine.request("GET", f"/api/v1/notifications/{message}", key=key)
        return answer if status == 200 else {}


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def chapter(title):
    print(f"\n{title}\n{'-' * len(title)}")


def say(text):
    print(textwrap.fill(text, WIDTH))


def show(line):
    print(f"    {line}")


def with_postgres(arguments):
    """A story on PostgreSQL: on the server that is named, or else on one that is started for it. It makes a database of its own there."""
    if arguments:
        harness.SERVER_URL = arguments[0]
    if not harness.SERVER_URL:
        os.execv(os.path.join(ROOT, "tools/with-postgres"), ["with-postgres", sys.executable, *sys.argv])
