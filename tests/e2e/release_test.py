#!/usr/bin/python3
"""A release has no fault points: neither the switch nor a name of one is in the binary."""
import sys
import unittest

import harness


class Release(unittest.TestCase):
    def test_no_fault_point_is_in_a_release(self):
        with open(harness.BINARY, "rb") as file:
            binary = file.read()
        self.assertIn(b"POSTRIDER_HOME", binary, "the search itself works")
        for name in [b"POSTRIDER_FAULT\0", b"before_claim\0", b"after_record\0"]:
            self.assertNotIn(name, binary)


if __name__ == "__main__":
    sys.exit(harness.main())
