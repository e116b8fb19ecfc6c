# SPDX-License-Identifier: Apache-2.0
"""Sweeps and leagues from Python give the command's numbers and accept policies in Python beside those in C++."""

import math
import os
import unittest

from traces import SYSTEM, TraceTest

import uvmsim


class LeastRecent(uvmsim.Evictor):
    """least recently used, as `lru`"""

    information_class = "D2"

    def __init__(self, context):
        super().__init__(context)
        self.order = {}

    def on_touched(self, chunk):
        self.order[chunk] = self.order.pop(chunk, None)

    on_migrated = on_touched

    def on_released(self, chunk):
        self.order.pop(chunk, None)

    def select_victim(self, queries):
        return next((chunk for chunk in self.order if queries.evictable(chunk)), None)


class SweepTest(TraceTest):
    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.spec = {"traces": "a.jsonl", "systems": SYSTEM, "osf": [1, 2], "iterations": "recorded"}

    def test_a_sweep_is_a_table_of_its_runs(self):
        table = uvmsim.sweep(self.spec, "out", jobs=1)
        total = table[table["scope"] == "total"]
        found = {round(1000 * row.osf): row.duration_ns for row in total.itertuples()}
        for result in self.trace.run(SYSTEM, osf=[1, 2]):
            self.assertEqual(found[result["osf_thousandths"]], result["total_ns"])
        self.assertGreater(len(uvmsim.sweep(self.spec, "out", everything=True).columns), 60)
        self.assertEqual([name for name in os.listdir(".") if name.startswith(".sweep-")], [])

    def test_what_is_wrong_is_the_command_s_line(self):
        with self.assertRaisesRegex(uvmsim.Error, "unknown key 'osff'"):
            uvmsim.sweep(self.spec | {"osff": 1}, "out")


class FitTest(TraceTest):
    def test_it_is_the_command_s_answer(self):
        path = os.path.join(self.folder, "a.jsonl")
        frame = uvmsim.fit(path, [SYSTEM, "t4-pcie3"], budget=1.5, settings=["gpus.0.memory_bytes=12MiB", "gpus.0.reserved_bytes=0"])
        self.assertEqual(frame["system"].tolist(), [SYSTEM, "t4-pcie3"])
        self.assertEqual(frame["fits"].tolist(), [False, False])
        self.assertTrue((frame["low_slowdown"] <= frame["slowdown"]).all() and (frame["slowdown"] <= frame["high_slowdown"]).all())
        self.assertTrue((frame["memory_x2"] == 1).all())
        self.assertTrue((frame["link_x2"] < frame["slowdown"]).all())
        self.assertTrue(uvmsim.fit(path, SYSTEM)["link_x2"].isna().all())

    def test_what_is_wrong_is_the_command_s_line(self):
        with self.assertRaisesRegex(uvmsim.Error, "--budget: '0.500' is no slowdown"):
            uvmsim.fit(os.path.join(self.folder, "a.jsonl"), SYSTEM, budget=0.5)


class AdviseTest(TraceTest):
    def test_it_is_the_command_s_answer(self):
        path, advised = (os.path.join(self.folder, name) for name in ("a.jsonl", "advised.uvmt"))
        table = uvmsim.advise(path, SYSTEM, osf=2, output=advised)
        self.assertEqual(table.attrs["schema"], "uvmsim.advise/1")
        self.assertTrue((table["time_ns"] < table.attrs["time_ns"]).all())
        self.assertLessEqual(table.attrs["best_ns"], table.attrs["time_ns"])
        result = uvmsim.run(advised, SYSTEM, osf=2)
        taken = result["settled"]["duration_ns"] if result["settled"] else result["total_ns"]
        self.assertAlmostEqual(taken / table.attrs["best_ns"], 1, delta=0.02)

    def test_what_is_wrong_is_the_command_s_line(self):
        with self.assertRaisesRegex(uvmsim.Error, "one --osf"):
            uvmsim.advise(os.path.join(self.folder, "a.jsonl"), SYSTEM)


class LeagueTest(TraceTest):
    def test_a_policy_in_python_stands_where_its_twin_does(self):
        table = uvmsim.league(self.trace, SYSTEM, osf=[2, 4], join=[LeastRecent], against=[{"evict": "lru"}, {"prefetch": "none"}])
        rows = {row.entrant: row for row in table.itertuples()}
        self.assertEqual(set(rows), {"driver", "evict lru", "prefetch none", "evict least_recent"})
        self.assertEqual(rows["driver"].over_driver, 1)
        self.assertEqual(rows["evict least_recent"].over_driver, rows["evict lru"].over_driver)
        self.assertEqual(rows["evict least_recent"].information_class, "D2")
        self.assertEqual(table["over_driver"].tolist(), sorted(table["over_driver"]))
        quotients = [
            one["settled"]["duration_ns"] / driver["settled"]["duration_ns"]
            for one, driver in zip(self.trace.run(SYSTEM, osf=[2, 4], prefetch="none"), self.trace.run(SYSTEM, osf=[2, 4]))
        ]
        self.assertAlmostEqual(rows["prefetch none"].over_driver, math.sqrt(quotients[0] * quotients[1]))
        self.assertEqual((rows["prefetch none"].contests, rows["prefetch none"].worst), (2, max(quotients)))

    def test_it_meets_every_built_in_unless_told_otherwise(self):
        from uvmsim.studies import _entrants

        names = [name for name, _ in _entrants([LeastRecent], None)]
        self.assertEqual((names[0], names[-1]), ("driver", "evict least_recent"))
        for name in ("evict lru", "prefetch none", "plan deepum"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if name.startswith(("route ", "schedule "))])


if __name__ == "__main__":
    unittest.main()
