# SPDX-License-Identifier: Apache-2.0
"""Checks that errors are one line of readable length that names its subject, and that long work prints that it
continues."""

import json
import resource
import subprocess
import time
import unittest

from command import SYSTEM, UVMSIM, CommandTest


class MessageTest(CommandTest):
    def test_lines_have_a_length_that_people_read(self):
        long = "x" * 300_000
        self.trace("t.jsonl", {"t": "kernel", "name": "k", long: 1})
        self.write("s.json", json.dumps({"traces": long, "systems": long}))
        for command in (
            ("run", "t.jsonl", *SYSTEM),
            ("run", "/" + "y" * 100_000, *SYSTEM),
            ("sweep", "s.json", "-o", "out"),
            ("run", "t.jsonl", "--system", "z" * 100_000),
        ):
            done = self.run_measured(*command)
            self.assert_one_line(done)
            self.assertLess(len(done.err), 2200, command)

    def test_an_empty_name_is_shown(self):
        for command in (("run", "", *SYSTEM), ("bounds", "", *SYSTEM), ("compare", "", "")):
            done = self.run_measured(*command)
            self.assertEqual(done.code, 2)
            self.assertNotRegex(done.err, r"cannot (read|be opened)\s+:")

    def test_standard_output_that_is_closed_is_named(self):
        self.small_trace()
        shell = f'"{UVMSIM}" run a.uvmt {" ".join(SYSTEM)} --json - >&-'
        done = subprocess.run(["sh", "-c", shell], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write standard output", done.stderr)

    def test_a_limit_of_memory_is_named(self):
        self.small_trace()
        for limit in (60 << 20, 200 << 20, 400 << 20):
            done = subprocess.run(
                [UVMSIM, "run", "a.uvmt", *SYSTEM, "--osf", "1,2,3,4"],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            )
            if done.returncode == 0 or "error while loading shared libraries" in done.stderr:
                continue
            self.assertIn(done.returncode, (2, 3), done.stderr)
            self.assertIn("memory", done.stderr.splitlines()[-1])
            self.assertNotIn("Resource temporarily unavailable", done.stderr)

    def test_a_command_that_is_silent_says_so(self):
        """Within one record there is no progress of records: a kernel of four million tiles. Lines then come at growing
        intervals."""
        pages = 1 << 20
        self.trace(
            "t.jsonl",
            {"t": "object_alloc", "id": 1, "bytes": pages * 4096},
            {"t": "kernel", "name": "k", "grid": [1 << 11, 1 << 11], "block": [256], "duration_ns": 1000, "distribution": "tiled",
             "accesses": [[1, [[0, pages, "r"]]]]},
        )  # fmt: skip
        for command in (("run", "t.jsonl", *SYSTEM), ("why", "t.jsonl", *SYSTEM), ("fit", "t.jsonl", "--gpus", SYSTEM[1])):
            process = self.start(*command)
            begin = time.monotonic()
            first = process.stderr.readline()
            seconds = time.monotonic() - begin
            process.kill()
            process.communicate()
            if not first and seconds < 2.5:
                continue  # the command was too fast
            self.assertLess(seconds, 10, command)  # allows for other work on the machine
            self.assertRegex(first, rb"at work for|records|%")

    def test_a_file_that_takes_long_to_read_says_so(self):
        """Half a gigabyte of blank lines from a file of some kilobytes."""
        plain = json.dumps({"t": "header", "major": 1, "quantum_bytes": 512}).encode() + b"\n" * (1 << 29)
        self.write("t.uvmt", subprocess.run(["zstd", "-q", "-c", "-1"], input=plain, stdout=subprocess.PIPE, check=True).stdout)
        for verb in ("validate", "info"):
            process = self.start("trace", verb, "t.uvmt")
            begin = time.monotonic()
            first = process.stderr.readline()
            if time.monotonic() - begin > 2.5 or first:
                self.assertIn(b"reading", first)
            process.kill()
            process.communicate()


if __name__ == "__main__":
    unittest.main()
