#!/usr/bin/python3
"""A release has no fault points: neither the switches nor a name of one is in the binary. The program for fault tests has them all."""
import os
import re
import sys
import unittest

import harness

FAULTS_BINARY = os.environ.get("POSTRIDER_FAULTS_BIN", os.path.join(os.path.dirname(harness.BINARY), "postrider-faults"))


def names_in_the_source():
    names = set()
    for folder, _, files in os.walk(os.path.join(harness.ROOT, "src")):
        for file in files:
            with open(os.path.join(folder, file), encoding="utf-8") as source:
                for line in re.findall(r"POSTRIDER_FAULT_(?:POINT|WANTED|SETTING)\(([^;]*)", source.read()):
                    names.update(re.findall(r'^(?:std::string\{)?"(\w+)"', line))
    return {name.encode() for name in names}


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Release(unittest.TestCase):
    def test_no_fault_point_is_in_a_release(self):
        binary = read(harness.BINARY)
        names = names_in_the_source()
        self.assertGreater(len(names), 20, "the names are found")
        self.assertIn(b"POSTRIDER_HOME", binary, "the search itself works")
        for name in [b"POSTRIDER_FAULT", *names]:
            self.assertNotIn(name + b"\0", binary)

    def test_the_program_for_fault_tests_has_them(self):
        binary = read(FAULTS_BINARY)
        for name in [b"POSTRIDER_FAULT", *names_in_the_source()]:
            self.assertIn(name, binary)


if __name__ == "__main__":
    sys.exit(harness.main())
