#!/usr/bin/python3
"""`postrider render` as a person types it: what it prints is the rendering and nothing else. The cases of Mustache's public specification
are put through it where they lie in a folder beside this tree; its own cases always run."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness

PUBLIC_CASES = os.path.join(os.path.dirname(harness.ROOT), "shared", "data", "mustache-spec")


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="postrider-render-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        return str(path)

    def run_render(self, *arguments, stdin=b""):
        return subprocess.run([harness.BINARY, "render", *arguments], input=stdin, capture_output=True, timeout=60, check=False)

    def render(self, body, data, *options, partials=None):
        """What it prints, exactly; anything on stderr that is no warning about a key is a failure."""
        arguments = ["--body-file", self.write("body", body), "--data-file", self.write("data.json", json.dumps(data)), *options]
        if partials is not None:
            for name, text in partials.items():
                self.write(f"partials/{name}", text)
            (self.folder / "partials").mkdir(exist_ok=True)
            arguments += ["--partials", str(self.folder / "partials")]
        done = self.run_render(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in done.stderr.decode().splitlines():
            self.assertRegex(line, r"^postrider: (no value for|not formatted:) ")
        return done.stdout.decode("utf-8")

    def refused(self, *arguments, code=1, stdin=b""):
        done = self.run_render(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode("utf-8")

    def error(self, body, data="{}", *options, partials=None):
        arguments = ["--body-file", self.write("body", body), "--data-file", self.write("data.json", data), *options]
        for name, text in (partials or {}).items():
            self.write(f"partials/{name}", text)
        if partials:
            arguments += ["--partials", str(self.folder / "partials")]
        said = self.refused(*arguments).replace(str(self.folder) + "/", "")
        self.assertEqual(said.count("\n"), 1, said)
        return said.strip()


class Rendering(Command):
    def test_nothing_is_added_and_nothing_is_lost(self):
        for text in ["", "\n", "x", "x\n", "\r\n\t\r\n", "Grüße 👋\n\n"]:
            self.assertEqual(self.render(text, {}), text)

    def test_only_html_is_escaped(self):
        data = {"x": "<b> & \"q\" 'a'"}
        self.assertEqual(self.render("{{x}}", data), "<b> & \"q\" 'a'")
        self.assertEqual(self.render("{{x}}", data, "--html"), "&lt;b&gt; &amp; &quot;q&quot; &#39;a&#39;")
        self.assertEqual(self.render("{{{x}}}{{&x}}", data, "--html"), "<b> & \"q\" 'a'" * 2)

    def test_partials_are_the_files_of_a_folder(self):
        partials = {"head": "[{{a}}]\n", "foot.mustache": "({{a}})", "mail.html": "<{{a}}>"}
        self.assertEqual(self.render("  {{>head}}\n{{>foot}}{{>mail}}{{>none}}", {"a": 1}, partials=partials), "  [1]\n(1)<1>")

    def test_a_partial_cannot_name_a_file_elsewhere(self):
        secret = self.write("secret", "SECRET")
        for name in ["../secret", "../body", secret, "./inside", "partials/inside"]:
            self.assertEqual(self.render("[{{>" + name + "}}]", {}, partials={"inside": "x"}), "[]")

    def test_locale_and_time_zone_reach_the_formatters(self):
        body = "{{at | date:long}} {{at | time:HH:mm}} {{sum | currency:EUR}} {{n | plural:one=# night; other=# nights}}"
        data = {"at": "2026-03-15T23:30:00Z", "sum": "1234.50", "n": 2}
        self.assertEqual(self.render(body, data), "March 15, 2026 23:30 €1,234.50 2 nights")
        self.assertEqual(self.render(body, data, "--locale", "de-DE", "--timezone", "Europe/Berlin"),
                         "16. März 2026 00:30 1.234,50\u00a0€ 2 nights")

    def test_the_environment_does_not_change_the_text(self):
        body, data = self.write("body", "{{d | date:long}}"), self.write("data.json", '{"d":"2026-03-15T23:30:00Z"}')
        done = subprocess.run([harness.BINARY, "render", "--body-file", body, "--data-file", data, "--locale", "tlh"], capture_output=True,
                              timeout=60, check=True, env={**os.environ, "LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"})
        self.assertEqual(done.stdout, b"March 15, 2026")

    def test_plain_dates_follow_the_date_format(self):
        self.assertEqual(self.render("{{checkinDate}}", {"checkinDate": "2026-03-15"}, "--date-format", "dd-MMM-yyyy"), "15-Mar-2026")

    def test_a_missing_key_is_a_warning_and_not_a_failure(self):
        body, data = self.write("body", "[{{guest.name}}]"), self.write("data.json", "{}")
        done = self.run_render("--body-file", body, "--data-file", data)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"[]", b"postrider: no value for guest.name\n"))
        self.assertEqual(self.render("[{{guest.name}}]", {}, "--keep-missing"), "[{{guest.name}}]")

    def test_standard_input_can_be_either_file(self):
        body, data = self.write("body", "{{a}}"), self.write("data.json", '{"a":1}')
        self.assertEqual(self.run_render("--body-file", body, "--data-file", "-", stdin=b'{"a":2}').stdout, b"2")
        self.assertEqual(self.run_render("--body-file", "-", "--data-file", data, stdin=b"<{{a}}>").stdout, b"<1>")

    def test_programs_read_json(self):
        body, data = self.write("body", "{{a}} {{b | number}}"), self.write("data.json", '{"b":"x"}')
        done = self.run_render("--json", "--body-file", body, "--data-file", data)
        self.assertEqual(json.loads(done.stdout), {"text": " x", "missing": ["a"], "unformatted": ["b"],
                                                   "sms": {"alphabet": "gsm7", "units": 2, "segments": 1}})


class Errors(Command):
    def test_a_broken_template_is_told_with_line_and_column(self):
        self.assertEqual(self.error("one\ntwo {{#x}}"), "postrider: body: line 2, column 5: {{#x}} is never closed")

    def test_a_broken_partial_is_told_by_its_name(self):
        self.assertEqual(self.error("x", partials={"p.txt": "{{"}), 'postrider: partial "p", line 1, column 1: {{ is never closed')

    def test_two_partials_of_one_name_are_refused(self):
        self.assertEqual(self.error("x", partials={"p.txt": "", "p.html": ""}), "postrider: partials: two files are called p")

    def test_a_partial_that_includes_itself_ends(self):
        self.assertEqual(self.error("{{>p}}", partials={"p": "x {{>p}}"}),
                         'postrider: body: partial "p", line 1, column 3: partials include each other deeper than 16')

    def test_a_text_without_end_ends(self):
        self.assertIn("grows past 1048576 bytes", self.error("{{#l}}{{#l}}{{#l}}{{x}}{{/l}}{{/l}}{{/l}}",
                                                            json.dumps({"l": [1] * 100, "x": "x" * 1000})))

    def test_data_that_is_no_json_is_refused(self):
        self.assertEqual(self.error("x", '{"a":1,"a":2}'), 'postrider: data.json: key "a" is given twice')

    def test_an_unknown_locale_or_zone_is_refused(self):
        self.assertEqual(self.error("x", "{}", "--locale", "de_"), "postrider: --locale de_: not a language tag")
        self.assertEqual(self.error("x", "{}", "--timezone", "Mars/Base"), "postrider: --timezone Mars/Base: no such zone")

    def test_a_tenants_locale_and_zone_are_checked_with_the_configuration(self):
        for line, said in [('locale = "de_"', 'locale of tenant "a": "de_" is not a language tag'),
                           ('timezone = "Mars/Base"', 'timezone of tenant "a": "Mars/Base" is no time zone')]:
            file = self.write("p.toml", f'[[tenants]]\nname = "a"\n{line}\n')
            done = subprocess.run([harness.BINARY, "--config", file, "config", "check"], capture_output=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr.decode()), (1, f"postrider: {file}: {said}\n"))

    def test_a_file_that_is_not_there_is_told(self):
        body = self.write("body", "x")
        self.assertEqual(self.refused("--body-file", body, "--data-file", "/nowhere/x"), "postrider: cannot read /nowhere/x\n")
        data = self.write("data.json", "{}")
        self.assertEqual(self.refused("--body-file", body, "--data-file", data, "--partials", "/nowhere"),
                         "postrider: cannot read the folder /nowhere\n")

    def test_wrong_arguments_are_exit_code_2(self):
        self.refused(code=2)
        self.refused("--body-file", self.write("body", "x"), code=2)
        self.refused("--body-file", "-", "--data-file", "-", code=1)

    def test_help_names_every_option(self):
        done = self.run_render("--help")
        self.assertEqual(done.returncode, 0)
        for option in ["--body-file", "--data-file", "--partials", "--html", "--locale", "--timezone", "--date-format", "--keep-missing"]:
            self.assertIn(option, done.stdout.decode())


class PublicSpecification(Command):
    @unittest.skipUnless(os.path.isdir(PUBLIC_CASES), f"the public cases are not in {PUBLIC_CASES}")
    def test_every_case_of_the_public_specification(self):
        """The specification escapes values, so its cases are html parts."""
        cases = 0
        for path in sorted(pathlib.Path(PUBLIC_CASES).glob("*.json")):
            for case in json.loads(path.read_text(encoding="utf-8"))["tests"]:
                with self.subTest(file=path.name, case=case["name"]):
                    for left in self.folder.glob("partials/*"):
                        left.unlink()
                    self.assertEqual(self.render(case["template"], case["data"], "--html", partials=case.get("partials", {})), case["expected"])
                    cases += 1
        self.assertGreaterEqual(cases, 130)


if __name__ == "__main__":
    sys.exit(harness.main())
