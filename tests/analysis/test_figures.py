# SPDX-License-Identifier: Apache-2.0
"""Tests of figures: they are drawn without a warning (the tests run with -W error), are complete, and have the same
bytes for the same results."""

import os
import unittest
import zlib

from commands import FolderTest, call
from paper_sweep import paper_points
from synthetic import NONE, PCA, Point, write_database, write_lines
from test_claims import kernels, paper_of

from analysis import __main__ as everything
from analysis import plot_osf
from analysis.euromlsys25 import __main__ as paper_command
from analysis.euromlsys25 import figures
from analysis.style import COLOURS, MARKERS, bar_look, look

PNG_START = b"\x89PNG\r\n\x1a\n"


def size_of(png):
    """Returns width and height in pixels."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def part_with_ink(png):
    """Returns the length of the compressed picture: it is very small if a figure lost its data."""
    return len(zlib.compress(png))


class PictureTest(FolderTest):
    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def assert_figures(self, names):
        for name in names:
            png, pdf = self.read(f"{name}.png"), self.read(f"{name}.pdf")
            self.assertTrue(png.startswith(PNG_START), name)
            self.assertTrue(pdf.startswith(b"%PDF"), name)
            self.assertGreater(min(size_of(png)), 200, name)
            self.assertGreater(part_with_ink(png), 8000, name)
            self.assertNotIn(b"CreationDate", pdf, name)


class PaperFiguresTest(PictureTest):
    def test_all_nine_and_each_the_same_twice(self):
        paper, sets = paper_of(paper_points()), kernels()
        names = [f"fig{number}" for number in range(1, 10)]
        for folder in ("first", "second"):
            written, skipped = figures.draw_all(paper, sets, self.path(folder), dpi=100)
            self.assertEqual(skipped, [])
            self.assertEqual(len(written), 18)
        self.assert_figures([f"first/{name}" for name in names])
        for name in names:
            for ending in (".png", ".pdf"):
                self.assertEqual(self.read(f"first/{name}{ending}"), self.read(f"second/{name}{ending}"), name)

    def test_what_has_no_data_is_named_and_the_rest_drawn(self):
        points = [point for point in paper_points() if point.layout == PCA and "_b" not in point.program]
        path = write_lines(points, self.path("a.jsonl"))
        status, out, err = call(paper_command.main, path, "-o", self.path("out"), "--dpi", 50)
        self.assertEqual((status, err), (0, ""))
        for name in ("fig1", "fig2", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9"):
            self.assertIn(f"not drawn: {name}: no ", out)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["claims.csv", "claims.md", "claims.txt"])

    def test_a_folder_that_cannot_be_written_is_one_line(self):
        path = write_lines(paper_points(), self.path("a.jsonl"))
        self.write("out", "")
        status, _, err = call(paper_command.main, path, "-o", self.path("out"))
        self.assertEqual(status, 2)
        self.assertRegex(err, r"^euromlsys25: error: cannot write .*claims\.txt: .*\n$")


def sweep(programs, layouts, prefetchers=("tree",), factors=(None, 1.0, 1.5, 2.0)):
    for program in programs:
        for layout in layouts:
            for prefetch in prefetchers:
                for osf in factors:
                    point = Point(program, layout, osf, int(1000 * (osf or 1) ** 4), htod_fault_bytes=10**9)
                    point.prefetch = prefetch
                    yield point


class SweepFiguresTest(PictureTest):
    def draw(self, points):
        path = write_database(list(points), self.path("results.sqlite"))
        status, out, err = call(everything.main, path, "-o", self.path("out"))
        self.assertEqual((status, err), (0, ""))
        return [line.rsplit("/", 1)[1] for line in out.splitlines()]

    def test_one_program(self):
        written = self.draw(sweep(["a"], [NONE]))
        self.assertEqual(written, ["points.csv", "osf.png", "osf.pdf", "bounds.png", "bounds.pdf"])
        self.assert_figures(["out/osf", "out/bounds"])
        self.assertEqual(self.read("out/points.csv").count(b"\n"), 5)

    def test_many_programs_layouts_and_policies(self):
        written = self.draw(sweep(["a", "b", "c", "d"], [NONE, PCA], ["tree", "none"]))
        self.assertIn("policies.png", written)
        self.assert_figures(["out/osf", "out/bounds", "out/policies"])

    def test_only_runs_without_limit(self):
        self.draw(sweep(["a"], [NONE, PCA], factors=[None]))
        self.assert_figures(["out/osf"])

    def test_a_run_that_moves_nothing_and_one_factor(self):
        path = write_lines([Point("a"), Point("a", osf=2.0)], self.path("a.jsonl"))
        status, _, err = call(plot_osf.main, path, "-o", self.path("one.png"))
        self.assertEqual((status, err), (0, ""))
        self.assert_figures(["one"])


class LookTest(unittest.TestCase):
    def test_series_differ_by_more_than_colour(self):
        for several in (look, bar_look):
            looks = [tuple(sorted(several(number).items())) for number in range(len(COLOURS) * len(MARKERS))]
            self.assertEqual(len(set(looks)), len(looks))
        without_colour = [look(number)["marker"] for number in range(7)]
        self.assertEqual(len(set(without_colour)), 7)
        self.assertEqual(len({bar_look(number)["hatch"] for number in range(7)}), 7)


if __name__ == "__main__":
    unittest.main()
