# SPDX-License-Identifier: Apache-2.0
"""Checks the data of figures, read back from the saved objects: data, labels, the baseline of slowdowns."""

import glob
import os
import re
import unittest
from unittest import mock

from commands import ROOT, FolderTest, call
from paper_sweep import paper_points
from synthetic import NONE, Point, write_database, write_lines
from test_claims import paper_of

from analysis import plot_bounds, plot_osf, plot_policies
from analysis.euromlsys25 import figures
from analysis.euromlsys25.paper import MODELS, NO_LIMIT, NO_PCA as WITHOUT, PCA as WITH
from analysis.series import SLOWDOWN_AXIS

GIB = 1 << 30


def runs(prefetch="tree", base=100, seed=1, osfs=(None, 1.5, 2.0), **counters):
    """The driver's run without limit takes 100 ns; with a limit `base` times the factor."""
    for osf in osfs:
        point = Point("a", osf=osf, duration_ns=int(base * (osf or 1)), **counters)
        point.prefetch, point.seed = prefetch, seed
        yield point


class FigureDataTest(FolderTest):
    def figures_of(self, main, points, *options, write=write_database):
        from matplotlib.figure import Figure

        saved, original = [], Figure.savefig

        def keep(figure, *arguments, **keywords):
            saved.append((figure, keywords["metadata"]))
            return original(figure, *arguments, **keywords)

        path = write(list(points), self.path("results"))
        with mock.patch.object(Figure, "savefig", keep):
            status, _, err = call(main, path, "-o", self.path("out.png"), *options)
        self.assertEqual((status, err), (0, ""))
        return saved

    def figure_of(self, main, points, *options, **keywords):
        return self.figures_of(main, points, *options, **keywords)[0][0]

    def lines_of(self, axis):
        """Returns every line with a marker, as [(x, y)]."""
        return [list(zip(line.get_xdata(), line.get_ydata())) for line in axis.lines if line.get_marker() != "None"]


class OsfTest(FigureDataTest):
    def test_one_curve(self):
        figure = self.figure_of(plot_osf.main, runs(htod_fault_bytes=2 * GIB, dtoh_evict_bytes=GIB))
        top, bottom = figure.axes
        self.assertEqual(self.lines_of(top)[0], [(1.5, 1.5), (2.0, 2.0)])
        self.assertEqual(self.lines_of(bottom), [[(1.5, 2), (2.0, 2)], [(1.5, 1), (2.0, 1)]])
        self.assertEqual(top.get_ylabel(), SLOWDOWN_AXIS)
        self.assertEqual(bottom.get_ylabel(), "data moved (GiB per iteration)")
        self.assertEqual(top.get_title(), "a, a100-pcie-80g, layout none, tree, lrm")

    def test_a_trace_without_iterations_is_of_the_run(self):
        points = [Point("a", osf=osf, duration_ns=100, iterations=0) for osf in (None, 2.0)]
        self.assertEqual(self.figure_of(plot_osf.main, points).axes[1].get_ylabel(), "data moved (GiB in the run)")

    def test_every_policy_against_the_same_run(self):
        points = [*runs(), *runs("none", base=9000)]
        for write in (write_database, write_lines):
            top = self.figure_of(plot_osf.main, points, write=write).axes[0]
            self.assertEqual(self.lines_of(top), [[(1.5, 1.5), (2.0, 2.0)], [(1.5, 135.0), (2.0, 180.0)]])
            self.assertEqual(top.get_ylabel(), SLOWDOWN_AXIS)

    def test_what_has_not_settled_is_marked_with_its_extremes(self):
        points = list(runs())
        points[2].learning_iterations = None
        points[2].spread_ns = (150, 260)
        for write in (write_database, write_lines):
            top = self.figure_of(plot_osf.main, points, write=write).axes[0]
            lines = self.lines_of(top)
            self.assertEqual(lines[0], [(1.5, 1.5), (2.0, 2.0)])
            self.assertIn([(2.0, 2.0)], lines[1:])  # a hollow marker
            (bars,) = [container for container in top.containers if container.has_yerr]
            self.assertEqual([segment.tolist() for segment in bars[2][0].get_segments()][1], [[2.0, 1.5], [2.0, 2.6]])
            status, out, _ = call(plot_osf.main, write(points, self.path("again")), "--table")
            self.assertEqual(status, 0)
            self.assertIn("not settled", out)
            self.assertRegex(out, "1–9, 0.0–0.0")

    def test_a_range_is_a_band(self):
        points = list(runs())
        for point in points:
            point.range = (800, 1900)
        figure = self.figure_of(plot_osf.main, points, write=write_lines)
        (band,) = figure.axes[0].collections
        self.assertEqual({round(y, 3) for _, y in band.get_paths()[0].vertices}, {0.8, 1.9})
        status, out, _ = call(plot_osf.main, write_lines(points, self.path("again")), "--table")
        self.assertEqual(status, 0)
        self.assertIn("0.80–1.90", out)

    def test_a_hypothetical_baseline_is_said(self):
        points = list(runs())
        points[0].hypothetical = True
        figure = self.figure_of(plot_osf.main, points, write=write_lines)
        self.assertIn("more memory than the GPU has", figure.axes[0].get_ylabel())

    def test_seeds_are_a_mean_with_error_bars(self):
        points = [point for seed, base in ((1, 100), (2, 100), (3, 100)) for point in runs(base=base, seed=seed)]
        points[2].duration_ns, points[5].duration_ns, points[8].duration_ns = 200, 300, 700
        top = self.figure_of(plot_osf.main, points).axes[0]
        self.assertEqual(self.lines_of(top)[0], [(1.5, 1.5), (2.0, 4.0)])
        (bars,) = top.containers
        segments = bars.lines[2][0].get_segments()
        ends = [[tuple(end) for end in one] for one in segments]
        self.assertEqual(ends, [[(1.5, 1.5)] * 2, [(2.0, 2.0), (2.0, 7.0)]])

    def test_files_say_what_made_the_results(self):
        for (_, metadata), key in zip(self.figures_of(plot_osf.main, runs()), ("Description", "Subject")):
            made_by = "uvmsim run a.uvmt  # uvmsim_version 0.1.0, uvmsim_commit 0123456789ab, model_version mmmm"
            self.assertIn(made_by, metadata[key])
            self.assertIn("trace 61", metadata[key])


class PoliciesTest(FigureDataTest):
    def test_bars_are_relative_to_the_policies_named(self):
        figure = self.figure_of(plot_policies.main, [*runs(), *runs("none", base=400)], "--against", "tree, lrm")
        (axis,) = figure.axes
        heights = [[round(bar.get_height(), 6) for bar in container] for container in axis.containers]
        self.assertEqual(heights, [[1, 1, 1], [4, 4, 4]])
        self.assertEqual([text.get_text() for text in axis.get_xticklabels()], ["no\nlimit", "1.5", "2"])
        self.assertEqual(axis.get_ylabel(), "relative time (×)")
        self.assertIn("time relative to tree, lrm", figure._suptitle.get_text())

    def test_seeds_are_a_mean_with_error_bars(self):
        points = list(runs(osfs=(None, 2.0)))
        for seed, base in ((1, 400), (2, 600)):
            points += runs("none", base=base, seed=seed, osfs=(None, 2.0))
        points += runs(seed=2, osfs=(None, 2.0))
        (axis,) = self.figure_of(plot_policies.main, points, "--against", "tree, lrm").axes
        bars = [one for one in axis.containers if hasattr(one, "patches")]
        self.assertEqual([[round(bar.get_height(), 6) for bar in one] for one in bars], [[1, 1], [5, 5]])
        (errors,) = [one for one in axis.containers if not hasattr(one, "patches")]
        ends = [[round(end[1], 6) for end in one] for one in errors.lines[2][0].get_segments()]
        self.assertEqual(ends, [[4, 6], [4, 6]])


class WidthTest(FigureDataTest):
    def test_a_column_of_a_paper(self):
        points = [*runs(), *runs("none")]
        widths = ("240pt", 240 / 72.27), ("84mm", 84 / 25.4), ("7in", 7)
        for main, (width, inches) in zip((plot_osf.main, plot_policies.main, plot_bounds.main), widths):
            figure = self.figure_of(main, points, "--width", width, write=write_lines)
            self.assertAlmostEqual(figure.get_size_inches()[0], inches)
        figure = self.figure_of(plot_osf.main, points, write=write_lines)
        self.assertEqual(figure.get_size_inches()[0], 6.4)  # without: its own

    def test_no_width(self):
        path = write_lines(list(runs()), self.path("a.jsonl"))
        for width in ("240", "pt", "-3in", "0.1in", "nanin", "1e9mm"):
            status, _, err = call(plot_osf.main, path, "-o", self.path("a.png"), f"--width={width}")
            self.assertEqual(status, 2)
            self.assertIn("is no width; allowed: 1.5in to 40in", err)


class ManySeriesTest(FigureDataTest):
    def many(self, number):
        """Draws `number` series, each with a long name."""
        points = list(runs())
        for threshold in range(2, number + 1):
            for point in runs("none", base=100 + threshold):
                point.prefetch_parameters = {"a_parameter_with_a_long_name": str(threshold)}
                points.append(point)
        return points

    def assert_readable(self, figure):
        """Checks that panels are as high as with few series, that titles of panels do not overlap, and that none
        overlaps the legend."""
        renderer = figure.canvas.get_renderer()
        boxes = [axis.get_window_extent(renderer) for axis in figure.axes]
        for box in boxes:
            self.assertGreater(box.height / figure.dpi, 1.0)
        texts = [text.get_window_extent(renderer) for text in [figure._suptitle, *(axis.title for axis in figure.axes)]
                 if text is not None and text.get_text()]  # fmt: skip
        texts += [legend.get_window_extent(renderer) for legend in figure.legends]
        for number, one in enumerate(texts):
            self.assertGreaterEqual(one.x0, -1)
            self.assertLessEqual(one.x1, figure.bbox.width + 1)
            for other in texts[:number]:
                self.assertFalse(one.overlaps(other))

    def test_forty_series(self):
        self.assert_readable(self.figure_of(plot_osf.main, self.many(40)))

    def test_panels_with_long_names(self):
        self.assert_readable(self.figure_of(plot_bounds.main, self.many(4)))

    def test_more_than_looks_are_refused(self):
        path = write_lines(self.many(50), self.path("a.jsonl"))
        self.assert_refused(plot_osf.main, path, "-o", self.path("a.png"), says="50 series cannot be told apart")


class BoundsTest(FigureDataTest):
    def test_panels_side_by_side_have_one_scale(self):
        points = [Point("a", osf=osf, duration_ns=600, iterations=0, kernel_compute_ns=100) for osf in (None, 2.0)]
        points += [Point("b", osf=osf, duration_ns=200, iterations=0, kernel_compute_ns=100) for osf in (None, 2.0)]
        left, right = self.figure_of(plot_bounds.main, points).axes
        self.assertEqual(left.get_ylim(), right.get_ylim())

    def test_bars_are_over_the_bound(self):
        points = [Point("a", osf=osf, duration_ns=600, iterations=0, kernel_compute_ns=100) for osf in (None, 2.0)]
        figure = self.figure_of(plot_bounds.main, points)
        (axis,) = figure.axes
        heights = [[bar.get_height() for bar in container] for container in axis.containers]
        self.assertEqual(heights, [[6, 6], [1, 1]])
        self.assertEqual(axis.get_ylabel(), "time / lower bound (×)")
        self.assertIn("lower bound (all resident)", [text.get_text() for text in figure.legends[0].get_texts()])


class PaperTest(FigureDataTest):
    def test_slowdowns_are_against_the_same_mode_without_limit(self):
        from matplotlib import pyplot

        paper = paper_of(paper_points())
        figure = figures.FIGURES["fig3"](pyplot, paper, None)
        for axis, mode in zip(figure.axes, (WITH, WITHOUT)):
            table = paper.table("duration_ns", mode)
            shown = [line for line in axis.lines if line.get_marker() != "None"]
            self.assertEqual(len(shown), len(table))
            for line, (model, times) in zip(shown, table.iterrows()):
                expected = [times[factor] / times[NO_LIMIT] for factor in times.index if factor != NO_LIMIT]
                self.assertEqual(line.get_label(), MODELS[model])
                self.assertEqual(list(line.get_ydata()), expected)
        self.assertEqual(figure.axes[0].get_ylabel(), "slowdown (× same mode, no limit)")
        pyplot.close(figure)


    def test_seeds_are_means_with_error_bars_in_every_figure(self):
        from matplotlib import pyplot

        times = {WITH: 3, WITHOUT: 5}  # time of seed 2 with and without a limit, as a multiple of seed 1
        points = paper_points()
        for point in paper_points():
            point.seed = 2
            if point.osf is not None or "_b" in point.program:
                point.duration_ns *= times[WITHOUT if point.layout == NONE else WITH]
            for name in ("fault_batches", "write_fault_batches", "htod_prefetch_bytes", "dtoh_evict_bytes"):
                point.counters[name] *= 3
            point.counters["htod_prefetch_transactions"] *= 2
            point.counters["fault_service_ns"] //= 2
            points.append(point)
        paper, alone = paper_of(points), paper_of(paper_points())
        table = paper.table("slowdown", WITH)
        self.assertTrue((table[2.0] == 2 * alone.table("slowdown", WITH)[2.0]).all())
        for number in (1, 2, 3, 4, 6, 7, 8, 9):
            figure = figures.FIGURES[f"fig{number}"](pyplot, paper, None)
            bars = [one for axis in figure.axes for one in axis.containers if not hasattr(one, "patches")]
            self.assertGreater(len(bars), 0, f"fig{number}")
            if number == 3:
                for axis, mode in zip(figure.axes, (WITH, WITHOUT)):
                    self.assert_ends(axis, alone.table("slowdown", mode), times[mode])
            pyplot.close(figure)
        for number in (2, 3):  # one seed: none
            figure = figures.FIGURES[f"fig{number}"](pyplot, alone, None)
            bars = [one for axis in figure.axes for one in axis.containers if not hasattr(one, "patches")]
            self.assertEqual(bars, [], f"fig{number}")
            pyplot.close(figure)

    def assert_ends(self, axis, table, times):
        """Expects error bars from the slowdown of seed 1 to `times` that slowdown, and the mean between."""
        curves = [line for line in axis.lines if line.get_marker() != "None" and line.get_label() in MODELS.values()]
        bars = [one for one in axis.containers if not hasattr(one, "patches")]
        self.assertEqual((len(curves), len(bars)), (len(table), len(table)))
        for line, errors, (_, slowdowns) in zip(curves, bars, table.iterrows()):
            expected = [slowdowns[factor] for factor in slowdowns.index if factor != NO_LIMIT]
            ends = [[end[1] for end in one] for one in errors.lines[2][0].get_segments()]
            for middle, (low, high), value in zip(line.get_ydata(), ends, expected):
                for found, wanted in ((low, value), (high, times * value), (middle, (1 + times) / 2 * value)):
                    self.assertAlmostEqual(found / wanted, 1)


class PicturesTest(unittest.TestCase):
    def test_one_script_makes_every_picture_of_the_readmes(self):
        with open(os.path.join(ROOT, "analysis", "figures", "make.sh"), encoding="utf-8") as file:
            script = file.read().replace("fig$number.png", " ".join(f"fig{number}.png" for number in range(1, 10)))
        # Figures of the first page and the tutorials are made by blocks of these pages.
        for more in [os.path.join(ROOT, "docs", "make_figures.sh"), *glob.glob(os.path.join(ROOT, "docs", "*.md")),
                     os.path.join(ROOT, "README.md")]:
            with open(more, encoding="utf-8") as file:
                script += file.read() if more.endswith(".sh") else " ".join(re.findall(r"<!-- picture: .* -->\n.*", file.read()))
        shown = set()
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in ("build", "results", ".git")]
            for name in names:
                if name.endswith(".md"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        shown.update(re.findall(r"!\[[^]]*\]\(([^)]+\.png)\)", file.read()))
        self.assertGreaterEqual(len(shown), 11)
        for picture in shown:
            self.assertIn(os.path.basename(picture), script)


if __name__ == "__main__":
    unittest.main()
