# SPDX-License-Identifier: Apache-2.0
"""Tests of a league's figures, with the real command if there is one, and with an invented league."""

import json
import os
import subprocess
import unittest

from commands import FolderTest, call
from test_figures import PictureTest
from test_real_results import COMMAND, trace_lines

from analysis import plot_league
from analysis.frame import whole_runs
from analysis.results import load

MS = 1000000


def entrant(name, rank, total, oracle=False, plugin=False):
    return {
        "rank": rank,
        "name": name,
        "policies": {"prefetch": "tree", "evict": name},
        "information_class": "D4" if oracle else "D0",
        "oracle": oracle,
        "plugin": plugin,
        "status": "finished",
        "time_ns": total * MS,
        "is_settled": True,
        "learning_iterations": 3,
        "total_ns": total * MS,
        "compute_ns": 20 * MS,
        "necessary_bytes_ns": 20 * MS,
        "excess_bytes_ns": 5 * MS,
        "fault_latency_ns": 5 * MS,
        "serialisation_ns": (total - 50) * MS,
    }


def overall(one, contests):
    return {
        **{key: one[key] for key in ("rank", "name", "policies", "information_class", "oracle", "plugin")},
        "contests": contests,
        "first": 0,
        "unsettled": 0,
        "learning_iterations": 3,
        "over_driver_millionths": one["total_ns"] // 100,
        "over_bound_millionths": one["total_ns"] // 40,
        "over_best_known_millionths": one["total_ns"] // 60,
        "best_over_driver_thousandths": one["total_ns"] // 110000,
        "worst_over_driver_thousandths": one["total_ns"] // 90000,
    }


def made_up():
    standings = [entrant("mine", 1, 80, plugin=True), entrant("driver", 2, 100), entrant("mru", 3, 5000)]
    standings.append(entrant("min", 1, 60, oracle=True))
    failed = {**entrant("crash", None, 60), "status": "failed", "error": "died", "information_class": None}
    contest = {"label": "a, OSF 2", "bound_ns": 40 * MS, "driver_ns": 100 * MS, "driver_total_ns": 100 * MS, "standings": [*standings, failed]}
    everybody = [overall(one, 2) for one in standings] + [{**overall(failed, 0), "over_driver_millionths": None}]
    return {
        "schema": plot_league.SCHEMA,
        "uvmsim_version": "0.1.0",
        "model_version": "mmmmmmmmmmmmm",
        "rule": "a mean",
        "counted_contests": 2,
        "overall": everybody,
        "contests": [contest, {**contest, "label": "b, OSF 2"}],
    }


class LeagueFigureTest(PictureTest):
    def test_both_figures_and_each_the_same_twice(self):
        path = self.write("league.json", json.dumps(made_up()))
        for name in ("one", "two"):
            status, out, err = call(plot_league.main, path, "-o", self.path(f"{name}.png"))
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(out.count("figure: "), 4)
        self.assert_figures(["one", "one_contests"])
        for name in ("", "_contests"):
            for ending in (".png", ".pdf"):
                self.assertEqual(self.read(f"one{name}{ending}"), self.read(f"two{name}{ending}"), name)

    def test_the_table_marks_plugins_and_the_future(self):
        path = self.write("league.json", json.dumps(made_up()))
        status, out, err = call(plot_league.main, path)
        self.assertEqual((status, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(lines[0], "a mean; contests counted: 2")
        self.assertEqual(lines[1], "   1  ▶ mine (D0)    0.800  learning 3")
        self.assertEqual(lines[4], "  o1  min (D4)       0.600  learning 3")
        self.assertEqual(lines[5], "   –  crash (–)          –  learning 3")

    def test_what_is_no_league_is_refused(self):
        for content, says in ((b"\xff", "not JSON"), (b"{}", "schema None"), (b"[]", "schema None"),
                              (json.dumps({"schema": plot_league.SCHEMA}).encode(), "not a whole league")):  # fmt: skip
            self.assert_refused(plot_league.main, self.write("x.json", content), says=says)
        self.assert_refused(plot_league.main, self.path("missing"), says="cannot read")
        nobody = {**made_up(), "overall": [], "contests": []}
        path = self.write("y.json", json.dumps(nobody))
        self.assert_refused(plot_league.main, path, "-o", self.path("y.png"), says="no policy finished all contests")
        self.assertFalse(os.path.exists(self.path("y.png")))


@unittest.skipUnless(COMMAND, "UVMSIM_COMMAND does not name the command")
class RealLeagueTest(FolderTest):
    def test_the_command_s_league_is_drawn(self):
        self.write("a.jsonl", "".join(json.dumps(line) + "\n" for line in trace_lines()))
        what = "league a.jsonl --system a100-pcie-80g --osf 2 --evict lru --evict fifo -o out"
        done = subprocess.run([COMMAND, *what.split()], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        status, out, err = call(plot_league.main, self.path("out"), "-o", self.path("figure"), "--table")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("evict fifo (D0)", out)
        self.assertIn("figure_contests.pdf", out)
        runs = whole_runs(load([self.path("out")]))
        with open(self.path("out/league.json"), encoding="utf-8") as file:
            bound = json.load(file)["contests"][0]["bound_ns"]
        self.assertEqual(runs["bound write_backs_ns"].tolist(), [bound] * 3, "a league is a sweep, too")


if __name__ == "__main__":
    unittest.main()
