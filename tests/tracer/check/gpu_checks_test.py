#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the checks that run on GPU machines can fail: run_readme.py and compare_peak.py of tracer/check on made-up
inputs.

usage: gpu_checks_test.py FOLDER_OF_TRACER_CHECK
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKS = pathlib.Path(sys.argv.pop(1)).resolve()
FENCE = "`" * 3


class Checks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def run_check(self, name, *arguments):
        return subprocess.run([sys.executable, str(CHECKS / name), *arguments], capture_output=True, text=True, timeout=60,
                              cwd=self.folder.name)

    def page(self, *blocks):
        return self.file("page.md", "".join(f"text\n{FENCE}\n{block}\n{FENCE}\n" for block in blocks))


class RunReadme(Checks):
    def test_a_block_sees_what_the_one_before_exported(self):
        result = self.run_check("run_readme.py", self.page("export X=3\necho a \\\n  b", 'echo "X is $X"'))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("$ echo a \\\n$   b\na b\n", result.stdout)
        self.assertIn("X is 3\n", result.stdout)
        self.assertTrue(result.stdout.endswith("PASS\n"))

    def test_the_first_command_that_fails_ends_it(self):
        for block in ("true\nfalse\ntouch beyond", "false", "no_such_command"):
            result = self.run_check("run_readme.py", self.page("true", block, "touch beyond"))
            self.assertEqual(result.returncode, 1)
            self.assertIn("page.md:7: exit code", result.stderr)
            self.assertNotIn("PASS", result.stdout)
            self.assertFalse((pathlib.Path(self.folder.name) / "beyond").exists())

    def test_one_of_two_ways_to_build(self):
        page = self.page("touch here # --preset", "touch carried # build/portable")
        self.run_check("run_readme.py", page)
        self.assertTrue((pathlib.Path(self.folder.name) / "here").exists())
        self.assertFalse((pathlib.Path(self.folder.name) / "carried").exists())
        self.run_check("run_readme.py", "--carried", page)
        self.assertTrue((pathlib.Path(self.folder.name) / "carried").exists())


class ComparePeak(Checks):
    def compare(self, peak):
        stderr = self.file("err", "noise\npeak in use 1000 MiB\n")
        info = self.file("info.json", json.dumps({"peak_managed_bytes": peak << 20, "touched_footprint_bytes": 1 << 20}))
        return self.run_check("compare_peak.py", stderr, info).returncode

    def test_five_percent_may_lie_between(self):
        self.assertEqual([self.compare(peak) for peak in (949, 951, 1000, 1049, 1051)], [1, 0, 0, 0, 1])

    def test_a_program_that_told_no_peak(self):
        result = self.run_check("compare_peak.py", self.file("err", "noise\n"), self.file("info.json", "{}"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no line 'peak in use N MiB'", result.stderr)


if __name__ == "__main__":
    unittest.main()
