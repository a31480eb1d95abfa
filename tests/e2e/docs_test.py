#!/usr/bin/python3
"""Runs what the documents show. Every block of shell or SQL that is marked to be run (tools/check-docs says how) is run in the order of
its page, in a folder of its own that looks like a fresh clone, and what a page shows as output must be what came out.

Two steps of ./run are left out there, packages and compiler: the binary that is tested is already built.
"""
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import harness

PUBLISHED = "127.0.0.1:8080"  # where the documents say that the engine listens
BLOCK_SECONDS_MAX = 60
SOON_SECONDS_MAX = 20
# What a reader has before the first line: an application with tables of its own.
APPLICATION = """
CREATE TABLE IF NOT EXISTS orders (id integer PRIMARY KEY, state text);
CREATE TABLE IF NOT EXISTS booking (id text PRIMARY KEY, status text);
"""


def load_check_docs():
    sys.dont_write_bytecode = True  # its folder is the tools', not a cache's
    loader = importlib.machinery.SourceFileLoader("check_docs", os.path.join(harness.ROOT, "tools/check-docs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_docs", loader))
    sys.modules["check_docs"] = module
    loader.exec_module(module)
    return module


check_docs = load_check_docs()


def same_json(shown, real):
    """Equal as JSON, where "…" inside a text of the page stands for anything and a key "…" for further keys."""
    if isinstance(shown, str) and "…" in shown:
        return shown == "…" or (isinstance(real, str) and re.fullmatch(".*".join(map(re.escape, shown.split("…"))), real, re.DOTALL))
    if isinstance(shown, dict) and isinstance(real, dict):
        named = {key: value for key, value in shown.items() if key != "…"}
        return (set(named) == set(real) or ("…" in shown and set(named) < set(real))) and all(
            same_json(value, real[key]) for key, value in named.items())
    if isinstance(shown, list) and isinstance(real, list):
        return len(shown) == len(real) and all(map(same_json, shown, real))
    return type(shown) is type(real) and shown == real


def same_text(shown, real):
    """Equal line by line, where "…" stands for anything inside its line and a line of "…" alone for any lines."""
    pattern = ""
    for line in shown.strip("\n").split("\n"):
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += "[^\n]*".join(map(re.escape, line.rstrip().split("…"))) + "\n"
    lines = [line.rstrip() for line in real.strip("\n").split("\n")]
    return re.fullmatch(pattern, "\n".join(lines) + "\n")


def same(shown, real):
    if shown.language == "text":
        return bool(same_text(shown.text, real))
    try:
        return bool(same_json(json.loads(shown.text), json.loads(real)))
    except ValueError:
        return False


class Reader:
    """Somebody with a fresh clone who types what a page says."""

    def __init__(self, stack):
        self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="postrider-docs-"))
        self.stack = stack
        self.address = f"127.0.0.1:{harness.free_port()}"
        self.server = None
        self.database = None
        self.clone()
        path = os.path.join(self.folder, ".reader/bin") + ":" + os.environ["PATH"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("POSTRIDER_") or name == "POSTRIDER_PG_BIN"}
        self.environment = {**kept, "PATH": path, "POSTRIDER_LISTEN": self.address}
        stack.callback(self.leave)

    def clone(self):
        for name in ["run", "tools/with-postgres"]:
            self.place(name, os.path.join(harness.ROOT, name))
        os.symlink(os.path.join(harness.ROOT, "examples"), os.path.join(self.folder, "examples"))
        for name in ["build/release/postrider", ".reader/bin/postrider"]:
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            os.symlink(os.path.abspath(harness.BINARY), os.path.join(self.folder, name))
        for name in ["tools/install-packages", ".reader/bin/cmake"]:
            with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                file.write("#!/bin/sh\nexit 0\n")
            os.chmod(os.path.join(self.folder, name), 0o755)

    def place(self, name, source):
        target = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)

    def leave(self):
        self.stop()
        left = os.path.join(self.folder, "build/pg.env")  # docs/development.md keeps a server; a block that failed may have left it
        if os.path.exists(left):
            self.bash(f"tools/with-postgres --stop {left}")

    def stop(self):
        if self.server and self.server.poll() is None:
            os.killpg(self.server.pid, signal.SIGTERM)
            try:
                self.server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.server.pid, signal.SIGKILL)
                self.server.wait()
        self.server = None

    def given(self, block):
        """The store that a block needs, with the application's own tables in it."""
        if "postgres" in block.words and self.database is None:
            self.database = harness.Postgres(self.folder)
            self.stack.callback(self.database.close)
            self.stack.callback(self.stop)  # before its database goes
            self.environment["DATABASE_URL"] = self.database.url
            self.made(f'psql -X -q -v ON_ERROR_STOP=1 "$DATABASE_URL" <<"SQL"{APPLICATION}SQL')
        if "sqlite" in block.words:
            self.made(f'sqlite3 -bail -cmd ".timeout 5000" var/postrider.db <<"SQL"{APPLICATION}SQL')

    def made(self, script):
        code, printed = self.bash(script)
        if code != 0:
            raise RuntimeError(f"the application's own tables: {printed}")

    def script(self, block):
        if block.language != "sql":
            return block.text
        program = 'psql -X -q -A -t -v ON_ERROR_STOP=1 "$DATABASE_URL"' if "postgres" in block.words else (
            'sqlite3 -bail -cmd ".timeout 5000" var/postrider.db')
        return f"{program} <<'END_OF_BLOCK'\n{block.text}\nEND_OF_BLOCK"

    def bash(self, text):
        """(exit code, everything printed); what the page names in one block is known in the next."""
        state = shlex.quote(os.path.join(self.folder, ".reader/state"))
        script = (f"if [ -f {state} ]; then . {state}; fi\nset -euo pipefail -a\n{text.replace(PUBLISHED, self.address)}\n"
                  f"set +a\n{{ export -p; declare -f; }} >{state}\n")
        try:
            done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=BLOCK_SECONDS_MAX)
        except subprocess.TimeoutExpired as late:
            return -1, f"{(late.stdout or b'').decode(errors='replace')}\nnot finished after {BLOCK_SECONDS_MAX} s"
        return done.returncode, self.published(done.stdout)

    def published(self, text):
        return text.replace(self.address, PUBLISHED).replace(self.folder, ".")

    def start(self, block):
        """Starts an engine and gives what it printed when it was ready."""
        self.stop()
        log = pathlib.Path(self.folder, ".reader/engine.log")
        with log.open("wb") as file:
            self.server = subprocess.Popen(["bash", "-c", "set -eu\n" + block.text.replace(PUBLISHED, self.address)], cwd=self.folder,
                                           env=self.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                           start_new_session=True)
        until, seen = time.monotonic() + SOON_SECONDS_MAX, ""
        while time.monotonic() < until:
            ended = self.server.poll()
            seen = self.published(log.read_text(encoding="utf-8", errors="replace"))
            if ended is not None:
                return ended or 1, seen
            if "postrider ready" in seen and (not block.output or same(block.output, seen)):
                break
            time.sleep(0.02)
        return (0 if "postrider ready" in seen else -1), seen

    def do(self, block):
        """Does what a block says; gives a finding, or nothing when all is as the page says."""
        self.given(block)
        until = time.monotonic() + (SOON_SECONDS_MAX if block.output and "soon" in block.output.words else 0)
        while True:
            code, printed = self.start(block) if "start" in block.words else self.bash(self.script(block))
            if (code != 0) != ("fails" in block.words):
                return f"{block.place}: ended with {code}:\n{textwrap.indent(printed, '    ')}"
            if not block.output or same(block.output, printed):
                return None
            if time.monotonic() >= until:
                return (f"{block.output.place}: the page shows\n{textwrap.indent(block.output.text, '    ')}\n  and it was\n"
                        f"{textwrap.indent(printed, '    ')}")
            time.sleep(0.1)


def run_page(path, root):
    """The first finding of a page, or nothing; what follows a wrong block would only repeat it."""
    blocks, found = check_docs.run_blocks(root, path)
    if found:
        return found[0]
    with contextlib.ExitStack() as stack:
        reader = Reader(stack)
        for block in blocks:
            finding = reader.do(block)
            if finding:
                return finding
    return None


class Pages(unittest.TestCase):
    """One test per document that has blocks to run; they are added below."""


def add_pages():
    root = pathlib.Path(harness.ROOT)
    for path in check_docs.walk(root):
        if path.suffix == ".md" and check_docs.run_blocks(root, path)[0]:
            name = re.sub(r"\W+", "_", path.relative_to(root).with_suffix("").as_posix().lower())

            def test(self, path=path):
                finding = run_page(path, root)
                if finding:
                    self.fail(finding)

            setattr(Pages, f"test_what_{name}_shows", test)


add_pages()


class TheTestItself(unittest.TestCase):
    """A page that is wrong must be found out, and a page that is right must not."""

    def finding(self, text):
        with tempfile.TemporaryDirectory(prefix="postrider-docs-") as folder:
            path = pathlib.Path(folder).resolve() / "page.md"
            path.write_text(textwrap.dedent(text), encoding="utf-8")
            return run_page(path, path.parent)

    def run_and_show(self, shell, output, language="text", mark="output", run="run"):
        return self.finding(f"<!-- {run} -->\n```sh\n{shell}\n```\n<!-- {mark} -->\n```{language}\n{output}\n```\n")

    def test_a_right_page_has_no_finding(self):
        self.assertIsNone(self.run_and_show("name=Ada\nprintf 'one\\ntwo %s\\nthree\\n' $name", "one\ntwo …\nthree"))
        self.assertIsNone(self.run_and_show("seq 9", "1\n…\n9"))
        self.assertIsNone(self.run_and_show("""echo '{"id": "a-1", "n": 2, "l": [null]}'""", '{"n": 2, "l": [null], "id": "a-…"}', "json"))
        self.assertIsNone(self.run_and_show("""echo '{"id": "a-1", "n": 2}'""", '{"n": 2, "…": "…"}', "json"))
        self.assertIsNone(self.run_and_show("echo x >>seen; wc -l <seen", "3", mark="output: soon"))
        self.assertIsNone(self.run_and_show("echo no; exit 3", "no", run="run: fails"))
        self.assertIsNone(self.finding("<!-- run -->\n```sh\nid=7\n```\n<!-- run -->\n```sh\ntest $id = 7\n```\n"))

    def test_a_wrong_command_is_found(self):
        self.assertIn("page.md:2: ended with", self.finding("<!-- run -->\n```sh\npostrider frobnicate\n```\n"))
        self.assertIn("page.md:2: ended with 1", self.finding("<!-- run -->\n```sh\nfalse\ntrue\n```\n"))
        self.assertIn("page.md:2: ended with", self.finding("<!-- run -->\n```sh\nfalse | true\n```\n"))
        self.assertIn("page.md:2: ended with 0", self.finding("<!-- run: fails -->\n```sh\ntrue\n```\n"))
        self.assertIn("page.md:6: ended with", self.finding("<!-- run -->\n```sh\nmkdir var\n```\n"
                                                            "<!-- run: sqlite -->\n```sql\nSELECT wrong FROM nothing;\n```\n"))
        self.assertIn("page.md:2: ended with", self.finding("<!-- run: start -->\n```sh\npostrider serve --no-such-option\n```\n"))

    def test_a_wrong_output_is_found(self):
        for shown in ["one", "one\ntwo\nthree\nfour", "one\ntwo\nthrice", "one\n…\nfour", "… two\nthree"]:
            self.assertIn("page.md:6: the page shows", self.run_and_show("printf 'one\\ntwo\\nthree\\n'", shown), shown)
        for shown in ['{"n": 3}', '{"n": "2"}', "{}", '{"n": 2, "m": 1}', '{"n": 2, "m": 1, "…": "…"}', '[{"n": 2}]', '{"n": true}']:
            self.assertIn("page.md:6: the page shows", self.run_and_show("""echo '{"n": 2}'""", shown, "json"), shown)
        self.assertIn("page.md:6: the page shows", self.run_and_show("echo 'not json'", "{}", "json"))

    def test_a_block_without_a_mark_is_found(self):
        self.assertIn("without a mark", self.finding("```sh\ntrue\n```\n"))

    def test_the_pages_that_show_the_most_are_run(self):
        for name in ["readme", "docs_reference_cli", "docs_reference_configuration", "docs_reference_errors", "docs_reference_http",
                     "docs_reference_sql_contract", "docs_development", "docs_templates"]:
            self.assertTrue(hasattr(Pages, f"test_what_{name}_shows"), name)


if __name__ == "__main__":
    sys.exit(harness.main())
