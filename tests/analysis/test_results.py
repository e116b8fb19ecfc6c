# SPDX-License-Identifier: Apache-2.0
"""Tests of reading results and sweeps, and of the output of the general commands."""

import csv
import os
import pathlib
import sqlite3
import subprocess
import sys
import unittest

from commands import ROOT, FolderTest, call
from synthetic import GB, Point, write_database, write_lines

from analysis import __main__ as everything
from analysis import huvm, plot_bounds, plot_osf, plot_policies, sharing
from analysis.errors import ResultError
from analysis.frame import iterations, settled, whole_runs
from analysis.plot_bounds import gaps_of
from analysis.plot_policies import compare
from analysis.result_file import read_result
from analysis.results import load
from analysis.series import labels, points_of, series_of


def sweep():
    """Two programs at three limits: `slow` takes twice as long at the factor 2."""
    return [
        Point(program, osf=osf, duration_ns=base * (2 if osf == 2.0 else 1), htod_fault_bytes=GB, fault_batches=7)
        for program, base in (("slow", 3000), ("fast", 1000))
        for osf in (None, 1.0, 2.0)
    ]


class PythonTest(unittest.TestCase):
    def test_one_without_the_libraries_is_told_so_in_one_line(self):
        # -S: without the folders where packages lie
        command = [sys.executable, "-S", "-m", "analysis.plot_osf", "x"]
        bare = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual((bare.returncode, bare.stdout), (2, ""), bare.stderr)
        self.assertEqual(bare.stderr.count("\n"), 1, bare.stderr)
        self.assertIn("lacks matplotlib and pandas", bare.stderr)


class LoadTest(FolderTest):
    def test_lines_and_database_of_the_same_points_give_the_same_table(self):
        points = sweep()
        from_lines = load([write_lines(points, self.path("a.jsonl"))])
        from_database = load([write_database(points, self.path("results.sqlite"))])
        names = [
            "program layout policies seed gaps length limit osf capacity_bytes footprint_bytes scope iteration settled"
            " duration_ns ideal_ns status htod_fault_bytes fault_batches"
        ][0].split()
        self.assertEqual(from_lines[names].to_csv(), from_database[names].to_csv())
        self.assertEqual(points_of(from_lines)["slowdown"].tolist(), points_of(from_database)["slowdown"].tolist())

    def test_json_that_is_nested_too_deep_is_one_line(self):
        deep = "[" * 100_000
        pathlib.Path(self.path("deep.json")).write_text(deep, encoding="utf-8")
        readers = {
            "results": lambda path: load([path]),
            "files of other commands": lambda path: read_result(path, "any", "any"),
            "scenarios of HUVM": huvm.Scenario,
            "scenarios of shared GPUs": lambda path: sharing.study(path, "uvmsim", 1),
        }
        for name, reader in readers.items():
            with self.subTest(name), self.assertRaisesRegex(ResultError, r"deep\.json.*nested too deep"):
                reader(self.path("deep.json"))

    def test_every_point_has_its_run_its_iterations_and_one_row_to_quote(self):
        frame = load([write_lines([Point("a", iterations=10, duration_ns=5)], self.path("a.jsonl"))])
        self.assertEqual(whole_runs(frame)["duration_ns"].tolist(), [50])
        self.assertEqual(iterations(frame)["iteration"].tolist(), list(range(10)))
        self.assertEqual(settled(frame)["duration_ns"].tolist(), [5])

    def test_runs_at_another_speed_are_another_curve(self):
        points = [Point("a", osf=osf) for osf in (1.0, 2.0)]
        slowed = [Point("a", osf=osf) for osf in (1.0, 2.0)]
        for point in slowed:
            point.time_scale_millionths = 1_500_000
        for name, write in (("a.jsonl", write_lines), ("a.sqlite", write_database)):
            series = series_of(points_of(load([write(points + slowed, self.path(name))])))
            self.assertEqual(labels([identity for identity, _ in series])[1], ["default", "time scale 1.5"])

    def test_a_run_without_iterations_is_quoted_as_a_whole(self):
        for name, write in (("a.jsonl", write_lines), ("a.sqlite", write_database)):
            frame = load([write([Point("graph", iterations=0, duration_ns=9)], self.path(name))])
            self.assertEqual(settled(frame)["duration_ns"].tolist(), [9])
            self.assertEqual(settled(frame)["scope"].tolist(), ["run"])

    def test_the_folder_of_a_sweep_names_its_database(self):
        write_database(sweep(), self.path("results.sqlite"))
        self.assertEqual(whole_runs(load([self.folder]))["program"].tolist(), ["slow"] * 3 + ["fast"] * 3)

    def test_a_partial_sweep_is_taken_only_when_told_and_then_says_so(self):
        path = write_database(sweep(), self.path("results.partial.sqlite"), planned=9)
        for where in (path, self.folder):
            with self.assertRaises(ResultError):
                load([where])
        frame = load([self.folder], allow_partial=True)
        self.assertEqual(set(frame["whole"]), {"partial sweep: 6 of 9 points"})
        title, _ = labels([identity for identity, _ in series_of(points_of(frame))])
        self.assertIn("partial sweep: 6 of 9 points", title)

    def test_failed_points_are_no_results(self):
        points = sweep()
        points[-1].error = "out of host memory"
        path = write_database(points, self.path("results.sqlite"))
        with self.assertRaisesRegex(ResultError, "5 of 6 points finished, 1 failed"):
            load([path])
        frame = load([path], allow_partial=True)
        self.assertEqual(frame[frame["status"] == "failed"]["error"].tolist(), ["out of host memory"])
        self.assertEqual(len(points_of(frame)), 5)


class RefusedInputTest(FolderTest):
    def refused(self, path, says):
        for command in (plot_osf, plot_policies, plot_bounds):
            self.assert_refused(command.main, path, says=says)
        self.assert_refused(everything.main, path, "-o", self.path("out"), says=says)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_what_is_no_result(self):
        whole = write_lines(sweep()[:1], self.path("whole.jsonl"))
        with open(whole, encoding="utf-8") as file:
            text = file.read()
        self.refused(self.path("absent.jsonl"), "cannot read")
        self.refused(self.write("empty.jsonl", ""), "no results given")
        self.refused(self.write("text.jsonl", "hello\n"), "text.jsonl: line 1: not JSON")
        self.refused(self.write("cut.jsonl", text + text[: len(text) // 2]), "cut.jsonl: line 2: not JSON")
        self.refused(self.write("other.jsonl", '{"schema": "uvmsim.result/9"}\n'), "allowed: 'uvmsim.result/3'")
        self.refused(self.write("list.jsonl", "[1]\n"), "schema None")
        self.refused(self.write("part.jsonl", '{"schema": "uvmsim.result/3"}\n'), "not a whole result")
        self.refused(self.write("binary.jsonl", b"\xff\xfe\x00"), "not a text file")

    def test_what_is_no_sweep(self):
        connection = sqlite3.connect(self.path("other.sqlite"))
        connection.execute("CREATE TABLE songs (name TEXT)")
        connection.commit()
        connection.close()
        self.refused(self.path("other.sqlite"), "not a sweep of uvmsim")
        self.refused(write_database(sweep(), self.path("new.sqlite"), schema="uvmsim.sweep/9"), "uvmsim.sweep/2")
        cut = self.path("cut.sqlite")
        write_database(sweep(), cut)
        with open(cut, "r+b") as file:
            file.truncate(os.path.getsize(cut) // 2)
        self.refused(cut, "not a sweep of uvmsim")
        os.mkdir(self.path("folder"))
        self.refused(self.path("folder"), "not a finished sweep")
        scenarios = write_database(sweep(), self.path("scenarios.sqlite"))
        connection = sqlite3.connect(scenarios)
        connection.execute("CREATE TABLE scenarios (id TEXT)")
        connection.commit()
        connection.close()
        self.refused(scenarios, "a sweep of scenarios")

    def test_a_partial_sweep(self):
        self.refused(write_database(sweep(), self.path("results.sqlite"), planned=7), "a partial sweep: 6 of 7 points")

    def test_arguments(self):
        path = write_lines(sweep(), self.path("a.jsonl"))
        self.assert_refused(plot_osf.main, path, "-o", self.path("a.svg"), says="allowed: .png or .pdf")
        self.assert_refused(plot_policies.main, path, "--against", "magic", says="allowed: tree, lrm")
        self.write("file", "")
        self.assert_refused(plot_osf.main, path, "-o", self.path("file/a.png"), says="cannot write")


class SlowdownTest(FolderTest):
    def test_against_the_run_without_limit(self):
        points = points_of(load([write_database(sweep(), self.path("a.sqlite"))]))
        self.assertEqual(points["slowdown"].tolist(), [1, 1, 2, 1, 1, 2])

    def test_without_one_there_is_none_and_nothing_in_its_place(self):
        runs = [Point("a", osf=4.0, duration_ns=900), Point("a", osf=1.5, duration_ns=300)]
        path = write_lines(runs, self.path("a.jsonl"))
        self.assertTrue(points_of(load([path]))["slowdown"].isna().all())
        for wanted in (["--table"], ["-o", self.path("a.png")]):
            self.assert_refused(plot_osf.main, path, *wanted, says="no run to compare with, the driver's own policies")

    def test_all_policies_against_the_drivers_own(self):
        runs = [Point("a", osf=osf, duration_ns=base) for osf, base in ((None, 100), (2.0, 400))]
        other = [Point("a", osf=osf, duration_ns=base) for osf, base in ((None, 9000), (2.0, 9500))]
        for point in other:
            point.prefetch = "none"
        for write, name in ((write_lines, "a.jsonl"), (write_database, "a.sqlite")):
            points = points_of(load([write(runs + other, self.path(name))]))
            self.assertEqual(points["slowdown"].tolist(), [1, 4, 90, 95])

    def test_a_run_that_a_sweep_made_only_to_compare_with_is_in_no_figure(self):
        runs = [Point("a", osf=2.0, duration_ns=400), Point("a", duration_ns=100)]
        runs[1].asked = False
        points = points_of(load([write_database(runs, self.path("a.sqlite"))]))
        self.assertEqual((points["limit"].tolist(), points["slowdown"].tolist()), (["osf"], [4]))

    def seeds(self):
        """Means of counters are not whole numbers: 7 and 8 fault batches."""
        points = [Point("a", osf=osf, duration_ns=base) for osf, base in ((None, 100), (2.0, 200))]
        others = [Point("a", osf=osf, duration_ns=base) for osf, base in ((None, 100), (2.0, 230))]
        for point in others:
            point.seed = 2
        points[1].counters["fault_batches"], others[1].counters["fault_batches"] = 7, 8
        return points + others

    def test_table_of_several_seeds(self):
        path = write_database(self.seeds(), self.path("a.sqlite"))
        status, out, err = call(plot_osf.main, path, "--table")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out.splitlines()[-1], r"^ +2 +4\.66 +0\.0 +2\.15 +8 +0 +0\.0 +0\.0 +2\.00–2\.30$")
        status, out, _ = call(plot_osf.main, path, "--latex")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"2 & 4\.66 & 0\.0 & 2\.15 & 8 & 0 & 0\.0 & 0\.0 & 2\.00--2\.30 \\\\\n")

    def test_a_csv_has_a_line_per_point(self):
        from analysis import __main__ as everything

        path = write_database(self.seeds(), self.path("a.sqlite"))
        status, _, err = call(everything.main, path, "-o", self.path("out"))
        self.assertEqual((status, err), (0, ""))
        with open(self.path("out/points.csv"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual({len(row) for row in csv.reader(lines)}, {len(lines[0].split(","))})

    def test_table_of_one_program(self):
        path = write_lines(sweep()[:3], self.path("a.jsonl"))
        status, out, _ = call(plot_osf.main, path, "--table")
        lines = out.splitlines()
        self.assertEqual(status, 0)
        self.assertEqual(lines[0], "slow, a100-pcie-80g, layout none, tree, lrm")
        self.assertEqual(
            lines[1],
            "slowdown against the driver's own policies with room for all; numbers per iteration",
        )
        self.assertRegex(lines[-1], r"^ +2 +4\.66 +0\.0 +2\.00 +7 +0 +0\.9 +0\.0$")
        self.assertEqual(len(lines), 7)  # the run without limit belongs in no curve


class PolicyTest(FolderTest):
    def runs(self):
        times = {("tree", "51"): 1000, ("tree", "75"): 1500, ("none", None): 4000}
        for (prefetch, threshold), base in times.items():
            for osf in (1.0, 2.0):
                point = Point("a", osf=osf, duration_ns=int(base * osf))
                point.prefetch = prefetch
                point.prefetch_parameters = {"threshold": threshold, "min_faults": "1"} if threshold else {}
                yield point

    def test_policies_are_named_by_what_differs(self):
        table, against, _ = compare(points_of(load([write_lines(list(self.runs()), self.path("a.jsonl"))])))
        self.assertEqual(against, "tree:threshold=51, lrm")
        self.assertEqual(
            table.groupby("policies", sort=False)["relative"].first().to_dict(),
            {"tree:threshold=51, lrm": 1.0, "tree:threshold=75, lrm": 1.5, "none, lrm": 4.0},
        )

    def test_table_against_a_policy_of_choice(self):
        path = write_database(list(self.runs()), self.path("a.sqlite"))
        status, out, _ = call(plot_policies.main, path, "--against", "none, lrm")
        self.assertEqual(status, 0)
        self.assertIn("time relative to none, lrm", out)
        self.assertRegex(out, r"tree:threshold=75, lrm +0\.375 +0\.375 +0\.375")

    def test_a_table_in_latex(self):
        path = write_database(list(self.runs()), self.path("a.sqlite"))
        status, out, _ = call(plot_policies.main, path, "--latex")
        self.assertEqual(status, 0)
        lines = out.splitlines()
        self.assertEqual(lines[1], r"% \usepackage{booktabs}")
        self.assertIn(r"\begin{tabular}{lrrr}", lines)
        self.assertIn(r"policies & 1 & 2 & mean \\", lines)
        self.assertIn(r"none, lrm & 4.000 & 4.000 & 4.000 \\", lines)
        self.assertEqual(lines[-1], r"\end{tabular}")


class BoundTest(FolderTest):
    def test_the_gap_is_to_the_largest_bound(self):
        point = Point("a", osf=2.0, duration_ns=600, iterations=0, kernel_compute_ns=100)
        gaps = gaps_of(load([write_lines([point], self.path("a.jsonl"))]))
        self.assertEqual((gaps["gap"].tolist(), gaps["bound"].tolist()), ([6], ["all resident"]))
        frame = load([self.path("a.jsonl")])
        frame["bound traffic_ns"] = 300
        gaps = gaps_of(frame)
        self.assertEqual((gaps["gap"].tolist(), gaps["bound"].tolist()), ([2], ["traffic"]))

    def test_table(self):
        path = write_lines(sweep()[3:], self.path("a.jsonl"))
        status, out, _ = call(plot_bounds.main, path)
        self.assertEqual(status, 0)
        self.assertRegex(out, r"all resident +no limit +0\.0 +0\.0 +1\.00")


if __name__ == "__main__":
    unittest.main()
