# SPDX-License-Identifier: Apache-2.0
"""The table of DeepUM: speed-ups, reasons, and the comparison with G10's ratios."""

import unittest

from commands import FolderTest, call
from synthetic import GB, Point, write_database, write_lines

from analysis import deepum, plot_policies
from analysis.frame import settled
from analysis.results import load


def three(program, osf, times_ms, setting="0"):
    points = []
    for plan, ms in zip(("none", "deepum", "deepum_ideal"), times_ms):
        point = Point(program, layout="pytorch_caching", osf=osf, duration_ns=ms * 10**6)
        point.plan, point.system_sha256 = plan, setting * 64
        point.counters.update(
            fault_batches=1000 if plan == "none" else 10,
            htod_busy_ns=ms * 900000 if plan == "deepum" else 0,
            kernel_compute_ns=ms * 100000,
            htod_fault_bytes=GB,
        )
        points.append(point)
    return points


class DeepUmTest(FolderTest):
    def sweep(self):
        slow = three("gpt2", 2.0, (900, 300, 250)) + three("gpt2", 4.0, (1200, 400, 500))
        other = three("bert", 3.7, (430, 215, 200), setting="1") + three("bert", 5.667, (800, 215, 200), setting="1")
        return slow + three("alexnet", 2.0, (900, 300, 250)) + other

    def test_prints_the_speed_up_and_what_is_left(self):
        status, out, err = call(deepum.main, write_database(self.sweep(), self.path("results.sqlite")))
        self.assertEqual((status, err), (0, ""))
        row = next(line for line in out.splitlines() if line.startswith("gpt2") and " 2 " in line)
        self.assertIn("3.00", row)
        self.assertIn("gpt2 at 2: the link: 90% of the time; fault batches 1,000 → 10", out)
        self.assertIn("On a100-pcie-80g DeepUM is 3.00 to 3.00 times as fast", out)
        self.assertIn("perfect prediction is slower than learning: gpt2 at 4", " ".join(out.split()))

    def test_no_line_is_wider_than_a_terminal(self):
        points = self.sweep() + three("inception_v3", 19.69, (123456789, 23456789, 33456789), setting="1")
        points += three("inception_v3", 19.69, (123456789, 23456789, 33456789))
        for point in points:
            point.learning_iterations = None
        _, out, _ = call(deepum.main, write_database(points, self.path("results.sqlite")))
        self.assertIn("why no faster:\n", out)
        self.assertIn("whole operands, not what faults", " ".join(out.split()))
        self.assertLessEqual(max(map(len, out.splitlines())), 120)

    def test_compares_the_other_link_with_the_published_ratios(self):
        _, out, _ = call(deepum.main, write_database(self.sweep(), self.path("results.sqlite")))
        rows = [line for line in out.splitlines() if line.startswith("BERT, batch 256")]
        self.assertRegex(rows[0], r"3\.7 +2\.15 +3\.7 +2\.15 +by footprint +– +in 2\.15 to 3\.78")
        self.assertRegex(rows[1], r"3\.7 +2\.15 +5\.67 +4\.00 +by sample +– +outside 2\.15 to 3\.78")

    def test_says_how_long_it_learned_and_what_has_not_settled(self):
        points = self.sweep()
        points[1].learning_iterations, points[4].learning_iterations = 7, None
        points[-3].learning_iterations = None
        for write, name in ((write_lines, "a.jsonl"), (write_database, "a.sqlite")):
            _, out, _ = call(deepum.main, write(points, self.path(name)))
            rows = [line for line in out.splitlines() if line.startswith("gpt2")]
            self.assertRegex(rows[0], r" 300 +250 +90 +3\.00 +7$")
            self.assertRegex(rows[1], r" 400\* +500 +120 +3\.00 +not settled$")
            self.assertIn("which takes 1 to 7 iterations", " ".join(out.split()))
            self.assertRegex(" ".join(out.split()), "with a run that has not settled: .*gpt2 at 4")
        self.assertRegex(out, r"BERT, batch 256 .*by sample +none +outside")  # of the sweep, whose last link is G10's

    def test_the_paper_s_card_has_a_table_of_its_own(self):
        card = three("gpt2", 1.5, (800, 400, 250), setting="2")
        for point in card:
            point.system = "v100-pcie-32g"
        _, out, _ = call(deepum.main, write_database(self.sweep() + card, self.path("results.sqlite")))
        _, ours, paper, g10 = out.split("model  ")[0], *out.split("model  ")[1:], out[out.index("G10's artifact") :]
        self.assertNotIn("1.5 ", ours.split("\n\n")[0])
        self.assertRegex(paper, r"gpt2 +1\.5 +800 +400 +250 +80 +2\.00")
        self.assertIn("no number of it is quoted from memory", " ".join(paper.split()))
        self.assertNotIn("1.5  ", g10.split("\n\n")[0].replace("1.50", ""))

    def test_writes_the_tables_as_markdown(self):
        database = write_database(self.sweep(), self.path("results.sqlite"))
        self.assertEqual(call(deepum.main, database, "--markdown", self.path("deepum.md"))[0], 0)
        with open(self.path("deepum.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("| gpt2 | 2 | 900 | 300 | 250 | 90 | 3.00 | 1 |", text)

    def test_a_missing_run_is_named(self):
        lines = write_lines(three("gpt2", 2.0, (9, 3, 2))[:2], self.path("a.jsonl"))
        self.assert_refused(deepum.main, lines, says="gpt2 at OSF 2: no run with plan deepum_ideal")
        self.assert_refused(deepum.main, write_lines([Point("a")], self.path("b.jsonl")), says="no run with a planner")


class ShortNamesTest(FolderTest):
    def test_no_plan_has_no_name(self):
        points = three("gpt2", 2.0, (9, 3, 2))
        for write, name in ((write_lines, "a.jsonl"), (write_database, "a.sqlite")):
            frame = settled(load([write(points, self.path(name))]))
            self.assertEqual(list(frame["policies"]), ["tree, lrm", "tree, lrm, deepum", "tree, lrm, deepum_ideal"])
        status, out, _ = call(plot_policies.main, self.path("a.jsonl"))
        self.assertEqual(status, 0)
        self.assertIn("tree, lrm, deepum", out)


if __name__ == "__main__":
    unittest.main()
