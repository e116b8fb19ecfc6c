# SPDX-License-Identifier: Apache-2.0
"""Tests of the table that compares advise with the league's policies: it has the numbers of the commands, and a broken
promise is noticed."""

import json
import os
import pathlib
import unittest
from unittest import mock

from commands import FolderTest, call

from analysis import advice

UVMSIM = os.environ["UVMSIM_COMMAND"]
PROGRAM = ("scan", "a scan", "scan.uvmt", "h200-sxm-pcie5", 1.5)


class Advice(FolderTest):
    def setUp(self):
        super().setUp()
        advice.Study(UVMSIM, self.folder, self.folder).call(
            "trace", "generate", "sequential", "--bytes", "64MiB", "-o", self.path("scan.uvmt")
        )
        patched = mock.patch.multiple(advice, PROGRAMS=[PROGRAM], POLICIES=[("prefetch", "always_2mb"), ("evict", "slru")])
        patched.start()
        self.addCleanup(patched.stop)

    def call(self, *more):
        arguments = ("-o", self.path("out"), "--uvmsim", UVMSIM, "--workloads", self.folder, *more)
        return call(advice.main, *arguments)

    def json(self, name):
        return json.loads(pathlib.Path(self.path(f"out/scan/{name}")).read_text(encoding="utf-8"))

    def test_the_table_is_what_the_commands_said(self):
        status, out, err = self.call("--markdown", self.path("table.md"))
        self.assertEqual(status, 0, err)
        self.assertEqual(pathlib.Path(self.path("table.md")).read_text(encoding="utf-8"), out)
        answer = self.json("advise.json")
        row = out.splitlines()[2]
        self.assertIn(f"| {advice.milliseconds(answer['time_ns'])} | {advice.milliseconds(answer['best_ns'])} |", row)
        self.assertIn("+0.0 %", row)
        points = advice.read_points(self.path("out/scan/policies/results.sqlite"))
        self.assertEqual([advice.name_of(point, points[0]) for point in points], ["", "prefetch always_2mb", "evict slru"])
        self.assertEqual(points[0]["settled_ns"] or points[0]["total_ns"], answer["time_ns"])
        self.assertEqual(points[0]["capacity_bytes"], answer["capacity_bytes"])

        # Existing results are reused: this one breaks another promise.
        answer["best_ns"] = answer["best_ns"] * 2
        self.write("out/scan/advise.json", json.dumps(answer))
        status, out, _ = self.call("scan")
        self.assertEqual(status, 1)
        self.assertIn("-50.0 %", out)

    def test_refuses_what_it_does_not_know(self):
        arguments = ("-o", self.path("out"), "--uvmsim", UVMSIM)
        self.assert_refused(advice.main, *arguments, "matmul", says="allowed: scan")
        self.assert_refused(advice.main, *arguments, "--workloads", "/nowhere", "scan", says="scan.uvmt")
        self.assert_refused(advice.main, "-o", self.path("out"), "--uvmsim", self.path("none"), says="No such file")


if __name__ == "__main__":
    unittest.main()
