# SPDX-License-Identifier: Apache-2.0
"""Results and errors in Python equal the command's, byte for byte."""

import contextlib
import os
import sqlite3
import unittest

from traces import SYSTEM, TraceTest

import uvmsim


class ResultsTest(TraceTest):
    def setUp(self):
        super().setUp()
        self.trace = uvmsim.Trace(self.path("a.jsonl"))

    def test_runs_settle_by_default(self):
        result = self.trace.run(SYSTEM, osf=2)
        self.assertTrue(result["settled"]["is_settled"])
        self.assertGreater(len(result["iterations"]), 3)
        frame = result.frame()
        self.assertEqual(frame["slowdown_thousandths"].tolist()[-1], result["slowdown_thousandths"])
        self.assertEqual(frame["slowdown_ideal_thousandths"].tolist()[-1], result["slowdown_ideal_thousandths"])
        self.assertEqual(len(self.trace.run(SYSTEM, osf=2, iterations="recorded")["iterations"]), 3)

    def test_each_is_what_the_command_writes(self):
        cases = (
            ({}, []),
            ({"osf": 2}, ["--osf", "2"]),
            ({"osf": 1.5, "evict": "lru:granularity=64k", "prefetch": "tree:threshold=75", "bounds": True},
             ["--osf", "1.5", "--evict", "lru:granularity=64k", "--prefetch", "tree:threshold=75", "--bounds"]),
            ({"capacity_bytes": "8MiB", "seed": 7, "evict": "random", "unlimited_run": False, "host_gaps": False},
             ["--capacity-bytes", "8MiB", "--seed", "7", "--evict", "random", "--no-unlimited-run", "--no-host-gaps"]),
            ({"osf": 2, "settings": {"costs.batch_ns": 7000, "driver.thrashing_enable": False}, "iterations": 5},
             ["--osf", "2", "--set", "costs.batch_ns=7000", "--set", "driver.thrashing_enable=false", "--iterations",
              "5"]),
            ({"osf": 2, "layout": "none", "time_scale": 2}, ["--osf", "2", "--layout", "none", "--time-scale", "2"]),
            ({"osf": 2, "prefetch": "oracle_next", "evict": "min"},
             ["--osf", "2", "--prefetch", "oracle_next", "--evict", "min"]),
        )  # fmt: skip
        for options, arguments in cases:
            with self.subTest(arguments):
                done = self.command(*arguments, "--json", "r.json", "--csv", "r.csv")
                self.assertEqual(done.returncode, 0, done.stderr)
                result = self.trace.run(SYSTEM, **options)
                self.assertEqual(result.json, self.read("r.json"))
                self.assertEqual(result.csv, self.read("r.csv"))
                self.assertGreater(result["total_ns"], 0)

    def test_wrong_types_are_errors_of_one_line(self):
        """A wrong type raises Error, like any mistake of the user, and not an exception of a library underneath."""
        calls = {
            "no path": lambda: uvmsim.Trace(5),
            "partial": lambda: uvmsim.Trace(self.path("a.jsonl"), partial="yes"),
            "bounds": lambda: self.trace.run(SYSTEM, bounds="yes"),
            "a policy": lambda: self.trace.run(SYSTEM, osf=2, evict=("lru", 5)),
            "osf": lambda: self.trace.run(SYSTEM, osf=object()),
            "seed": lambda: self.trace.run(SYSTEM, seed=[1]),
            "system": lambda: self.trace.run(None),
            "budget": lambda: uvmsim.fit(self.path("a.jsonl"), SYSTEM, budget="much"),
            "systems": lambda: uvmsim.fit(self.path("a.jsonl"), 5),
            "no JSON": lambda: uvmsim.sweep({"osf": object()}, self.path("out")),
            "sweep": lambda: uvmsim.sweep(5, self.path("out")),
        }
        for what, call in calls.items():
            with self.subTest(what), self.assertRaises(uvmsim.Error) as raised:
                call()
            self.assertEqual(len(str(raised.exception).splitlines()), 1)

    def test_a_list_of_factors_gives_a_list(self):
        self.assertEqual(self.command("--osf", "1,2,4", "--json", "r.json").returncode, 0)
        results = self.trace.run(SYSTEM, osf=[1, 2, 4])
        self.assertEqual("".join(result.json for result in results), self.read("r.json"))
        again = uvmsim.run(self.path("a.jsonl"), SYSTEM, osf=[2])
        self.assertEqual([one.json for one in again], [results[1].json])

    def test_any_sequence_and_any_number_is_a_factor(self):
        wanted = [result["limit"]["osf_thousandths"] for result in self.trace.run(SYSTEM, osf=["1.333", "2"])]
        for factors in ((4 / 3, 2), iter([4 / 3, 2.0]), map(float, ("1.3333", "2"))):
            found = [result["limit"]["osf_thousandths"] for result in self.trace.run(SYSTEM, osf=factors)]
            self.assertEqual(found, wanted)
        self.assertEqual(len(self.trace.run(SYSTEM, osf=range(1, 4))), 3)
        try:
            import numpy
        except ImportError:
            return
        results = self.trace.run(SYSTEM, osf=numpy.linspace(1, 2, 3))
        self.assertEqual([one["limit"]["osf_thousandths"] for one in results], [1000, 1500, 2000])
        self.assertEqual(self.trace.run(SYSTEM, osf=numpy.float64(1.5)).json, results[1].json)

    def test_seeds_are_those_of_the_command(self):
        done = self.command("--osf", "2,4", "--evict", "random", "--seed", "3", "--seeds", "2", "--json", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        results = self.trace.run(SYSTEM, osf=[2, 4], evict="random", seed=3, seeds=2)
        self.assertEqual("".join(result.json for result in results), self.read("r.json"))
        self.assertEqual([result["seed"] for result in results], [3, 4, 3, 4])

    def test_a_run_may_end_when_it_has_settled(self):
        done = self.command("--osf", "2", "--iterations", "20", "--until-settled", "--json", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.trace.run(SYSTEM, osf=2, iterations=20, until_settled=True).json, self.read("r.json"))

    def test_timeline_and_profile_are_those_of_the_command(self):
        done = self.command("--osf", "2", "--timeline", "t.json", "--profile", "p.sqlite")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.trace.run(SYSTEM, osf=2, timeline=self.path("u.json"), profile=self.path("q.sqlite"))
        self.assertEqual(self.read("u.json"), self.read("t.json"))
        rows = []
        for name in ("p.sqlite", "q.sqlite"):
            with contextlib.closing(sqlite3.connect(self.path(name))) as profile:
                rows.append(list(profile.iterdump()))
        self.assertEqual(*rows)

    def test_one_line_says_what_a_result_is(self):
        result = self.trace.run(SYSTEM, osf=2)
        slowdown = result["slowdown_thousandths"] / 1000
        self.assertRegex(repr(result), rf"^<Result: a\.jsonl on {SYSTEM}, tree, lrm.*, OSF 2: [0-9.,]+ ms per iteration.*, slowdown {slowdown:,.3f}>$")
        self.assertEqual(repr(self.trace), f"<Trace: {self.path('a.jsonl')}>")

    def test_a_table_has_a_row_per_iteration_and_one_for_the_run(self):
        result = self.trace.run(SYSTEM, osf=2, iterations="recorded")
        frame = result.frame()
        self.assertEqual(frame["scope"].tolist(), ["iteration"] * 3 + ["total"])
        self.assertEqual(frame["duration_ns"].tolist()[-1], result["total_ns"])
        self.assertEqual(frame["evictions"].tolist()[-1], result["counters"]["evictions"])
        everything = result.frame(everything=True)
        self.assertEqual(list(everything.columns), result.csv.splitlines()[0].split(","))
        self.assertLess(len(frame.columns), 20)
        counters = result["counters"]
        moved = sum(value for name, value in counters.items() if name.startswith("htod_") and name.endswith("_bytes"))
        self.assertEqual(frame["htod_bytes"].tolist()[-1], moved)

    def test_notebooks_show_the_main_numbers_and_never_markup_of_others(self):
        result = self.trace.run(SYSTEM, osf=2, bounds=True)
        shown = result._repr_html_()
        over = result["bounds"]["distance"]["over_bound_thousandths"] / 1000
        for text in (f"{result['settled']['duration_ns'] / 1e6:,.3f} ms", f"{result['settled']['counters']['evictions']:,}",
                     "OSF 2", f"{result['slowdown_thousandths'] / 1000:,.3f} against", f"{over:,.3f} times", "a.jsonl"):  # fmt: skip
            self.assertIn(text, shown)
        self.assertNotIn("times the best", self.trace.run(SYSTEM, unlimited_run=False)._repr_html_())
        result["trace"]["file"] = result["command"] = result["layout"] = "</table><script>alert(1)</script>\"'"
        self.assertNotIn("<script", result._repr_html_())
        self.assertEqual(result._repr_html_().count("</table>"), 1)

    def test_what_a_trace_tells(self):
        self.assertEqual(self.trace.footprint_bytes(), 16 << 20)
        self.assertEqual(self.trace.records, 20)
        self.assertEqual(self.trace.sha256, self.trace.run(SYSTEM)["trace"]["sha256"])

    def test_the_touched_footprint_is_divided_where_that_is_said(self):
        result = self.trace.run(SYSTEM, osf=2, footprint="touched")
        self.assertEqual(result["limit"]["footprint"], "touched")
        self.assertEqual(result["capacity_bytes"], result["touched_footprint_bytes"] // 2)

    def test_policies_are_those_of_the_command(self):
        listed = {(one["slot"], one["name"]) for one in uvmsim.policies()}
        self.assertLessEqual({("prefetch", "tree"), ("evict", "lrm"), ("evict", "lru")}, listed)

    def test_systems_are_those_of_the_command(self):
        listed = {one["name"]: one for one in uvmsim.systems()}
        self.assertEqual(listed[SYSTEM]["gpu"], "NVIDIA H200")
        self.assertGreater(listed[SYSTEM]["memory_bytes"], 100 << 30)
        self.assertFalse([one for one in listed.values() if "problem" in one])


class ErrorsTest(TraceTest):
    def message(self, **options):
        with self.assertRaises(uvmsim.Error) as caught:
            self.trace.run(SYSTEM, **options)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_they_are_the_command_s_line(self):
        for options, arguments in (
            ({"evict": "lur"}, ["--evict", "lur"]),
            ({"prefetch": "tree:treshold=3"}, ["--prefetch", "tree:treshold=3"]),
            ({"prefetch": "tree:threshold=300"}, ["--prefetch", "tree:threshold=300"]),
            ({"settings": ["costs.batch=1"]}, ["--set", "costs.batch=1"]),
            ({"plugins": "./missing.so"}, ["--plugin", "./missing.so"]),
        ):
            with self.subTest(arguments):
                done = self.command(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(f"uvmsim: error: {self.message(**options)}\n", done.stderr)

    def test_they_name_the_argument(self):
        self.assertRegex(self.message(osf=0), r"^osf: .*allowed: a decimal number above 0")
        self.assertRegex(self.message(osf="many"), r"^osf: ")
        self.assertRegex(self.message(osf=[]), r"^osf: there is no factor in it")
        self.assertRegex(self.message(seeds=0), r"^seeds: 0 is not allowed; allowed: 1 to 1000")
        self.assertRegex(self.message(osf=[1, 2], timeline=self.path("t")), "timeline and profile show one run")
        self.assertFalse(os.path.exists(self.path("t")))
        self.assertRegex(self.message(osf=100), "one 2 MiB chunk")
        self.assertRegex(self.message(osf=2, capacity_bytes="8MiB"), "osf and capacity_bytes")
        self.assertRegex(self.message(capacity_bytes=1), "^capacity_bytes: 1 is too small")
        self.assertRegex(self.message(layout="recoded"), "unknown layout 'recoded'")
        self.assertRegex(self.message(seed=-1), "^seed: '-1'")
        self.assertRegex(self.message(route="none"), "unknown route policy 'none'")
        self.assertRegex(self.message(detour="none"), "unknown slot 'detour'")

    def test_traces_and_systems_that_are_not_there(self):
        with self.assertRaisesRegex(uvmsim.Error, "missing.uvmt"):
            uvmsim.Trace(self.path("missing.uvmt"))
        with self.assertRaisesRegex(uvmsim.Error, "h200-sxm-pcie6"):
            self.trace.run("h200-sxm-pcie6")
        with open(self.path("cut.jsonl"), "w", encoding="utf-8") as file:
            file.write("no trace\n")
        with self.assertRaises(uvmsim.Error):
            uvmsim.Trace(self.path("cut.jsonl"))
        self.assertTrue(issubclass(uvmsim.Error, ValueError))


if __name__ == "__main__":
    unittest.main()
