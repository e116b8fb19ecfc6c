# SPDX-License-Identifier: Apache-2.0
"""Passes names from strangers through every command: each is printed as text within its line, and is not a formula in a
CSV file."""

import csv
import json
import os
import re
import unittest

from command import SYSTEM, CommandTest

NAMES = (
    "two\nlines",
    "\x1b[31mred\x07\x1b]0;title\x07",
    "left\u202etfel\u2066",
    "zero\u200bwidth\ufeff",
    "c1\u0085\u009b31m",
    "=1+1",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    "%n%s{0}",
)
# The rule of sim/common/plain_text.h, except for line ends of the command's own output.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\udc80-\udcff]")


class NameTest(CommandTest):
    def assert_plain(self, text, what):
        found = FORBIDDEN.search(text)
        self.assertIsNone(found, (what, found and text[max(0, found.start() - 60) : found.end() + 20]))

    def assert_lines(self, done, what):
        self.assert_plain(done.out, what)
        self.assert_plain(done.err, what)
        self.assertNotIn("\nlines", done.out + done.err, what)

    def program(self, name, path="t.jsonl"):
        """Returns a program in which every name is this one."""
        return self.trace(
            path,
            {"t": "object_alloc", "id": 1, "bytes": 4 << 20},
            {"t": "tensor_alloc", "id": 2, "bytes": 1 << 20, "object": 1, "name": name},
            {"t": "range", "kind": "iteration_begin", "index": 0},
            {"t": "range", "kind": "push", "name": name},
            {"t": "kernel", "name": name, "grid": [64], "block": [128], "duration_ns": 1000, "accesses": [[1, [[0, 1024, "rw"]]]]},
            {"t": "range", "kind": "pop"},
            {"t": "range", "kind": "iteration_end", "index": 0},
        )

    def test_of_kernels_tensors_and_ranges(self):
        for name in NAMES:
            self.program(name)
            for command in (
                ("run", "t.jsonl", *SYSTEM, "--osf", "1,2", "--csv", "r.csv", "--json", "r.json"),
                ("run", "t.jsonl", *SYSTEM, "--osf", "2", "--profile", "p.sqlite", "--no-unlimited-run"),
                ("bounds", "t.jsonl", *SYSTEM),
                ("trace", "info", "t.jsonl"),
                ("trace", "validate", "t.jsonl"),
                ("report", "p.sqlite", "-o", "page.html"),
            ):
                done = self.run_measured(*command)
                self.assertIn(done.code, (0, 1, 2), (name, command, done.err))
                self.assert_lines(done, (name, command))
            page = self.folder / "page.html"
            if page.exists():
                self.assertNotIn("<script>alert(1)", page.read_text())

    def test_of_headers(self):
        for name in NAMES:
            header = {"t": "header", "major": 1, "quantum_bytes": 4096}
            header.update({key: name for key in ("tool", "gpu", "driver", "program", "provenance")}, attributes=[[name, name]])
            self.write("t.jsonl", json.dumps(header) + "\n" + json.dumps({"t": "sync", "kind": "device"}) + "\n")
            for command in (("trace", "info", "t.jsonl"), ("run", "t.jsonl", *SYSTEM)):
                self.assert_lines(self.run_measured(*command), (name, command))

    def test_of_files(self):
        """A file's name appears in first lines, tables, messages and progress."""
        for number, name in enumerate(name for name in NAMES if "/" not in name):
            self.program("k", "plain.jsonl")
            os.rename(self.folder / "plain.jsonl", self.folder / name)
            for command in (
                ("run", name, *SYSTEM, "--osf", "1,2", "--csv", "r.csv", "--json", "r.json"),
                ("run", name, *SYSTEM, "--verbose"),
                ("bounds", name, *SYSTEM),
                ("trace", "info", name),
                ("trace", "validate", name),
                ("check", f"b{number}.json", "--new", name, *SYSTEM),
                ("check", f"b{number}.json"),
                ("compare", "r.json", "r.json"),
                ("report", "r.json", "-o", "page.html"),
            ):
                done = self.run_measured(*command)
                self.assertIn(done.code, (0, 1, 2), (name, command, done.err))
                self.assert_lines(done, (name, command))
            with open(self.folder / "r.csv", encoding="utf-8", newline="") as file:
                for cell in (cell for row in csv.reader(file) for cell in row):
                    self.assertNotIn(cell[:1], ("=", "@"), cell)
                    self.assertIsNone(FORBIDDEN.search(cell), cell)
            os.remove(self.folder / name)

    def test_of_bytes_that_are_no_text(self):
        name = b"a\xff\xfe\x80.jsonl"
        self.program("k", "plain.jsonl")
        os.rename(self.folder / "plain.jsonl", os.path.join(os.fsencode(self.folder), name))
        for command in (("run", os.fsdecode(name), *SYSTEM), ("trace", "validate", os.fsdecode(name)), ("trace", "info", "none" + os.fsdecode(name))):
            self.assert_lines(self.run_measured(*command), command)

    def test_of_results(self):
        """Layouts, policies, systems and metrics of a result that a stranger wrote."""
        self.program("k")
        self.run_ok("run", "t.jsonl", *SYSTEM, "--osf", "2", "--json", "r.json")
        result = json.loads((self.folder / "r.json").read_text())
        for name in NAMES:
            changed = json.loads(json.dumps(result))
            changed["trace"]["file"] = name
            changed["layout"] = name
            changed["system"]["name"] = name
            for policy in changed["policies"].values():
                policy["name"] = name
            changed["counters"][name] = 1
            self.write("c.json", json.dumps(changed) + "\n")
            for command in (("compare", "r.json", "c.json"), ("compare", "c.json", "c.json"), ("report", "c.json", "-o", "page.html")):
                done = self.run_measured(*command)
                self.assertIn(done.code, (0, 1, 2), (name, command, done.err))
                self.assert_lines(done, (name, command))


if __name__ == "__main__":
    unittest.main()
