# SPDX-License-Identifier: Apache-2.0
"""Profiles: tables per kernel, layer and tensor, heat maps, and working sets for the paper's figure 5."""

import csv
import os
import unittest

import numpy
from commands import FolderTest, call
from paper_sweep import paper_points
from synthetic import write_lines
from synthetic_profile import write_profile

from analysis import plot_heatmap, profile_tables
from analysis.euromlsys25 import __main__ as paper_command
from analysis.euromlsys25.kernels import load_kernels
from analysis.plot_heatmap import grid_of, matrix_of
from analysis.profiles import Profile
from analysis.profile_tables import table_of


class TableTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.profile = write_profile(self.path("gpt2.profile"))

    def table(self, by, choice="last", nested=False):
        with Profile(self.profile) as profile:
            frame, _ = table_of(profile, by, profile.chosen_iterations(choice), nested)
        return frame

    def test_kernels_by_name_longest_stalls_first(self):
        frame = self.table("kernel")
        self.assertEqual(frame["name"].tolist(), ["matmul", "add", "softmax"])
        self.assertEqual(frame["stall_ns"].tolist(), [20_000_000, 2_000_000, 0])
        self.assertEqual(frame["launches"].tolist(), [1, 1, 1])
        self.assertEqual(frame["faulting_pages"].tolist(), [500, 50, 0])
        self.assertEqual(frame["to_gpu_bytes"].tolist(), [2_000_000, 200_000, 0])
        self.assertEqual(frame["largest_set_bytes"].tolist(), [8 << 20, 1 << 20, 1 << 20])

    def test_one_iteration_or_the_whole_run(self):
        self.assertEqual(self.table("kernel", "0")["launches"].tolist(), [1, 1, 1])
        self.assertEqual(self.table("kernel", "all")["launches"].tolist(), [3, 2, 2])  # one before the iterations
        self.assertEqual(self.table("tensor", "all")["stall_ns"].tolist(), [30_000_000, 14_000_000])

    def test_layers_alone_and_with_what_is_inside(self):
        alone = self.table("layer").set_index("layer")["stall_ns"].to_dict()
        self.assertEqual(alone, {"net:Net / fc:Linear": 22_000_000, "(outside of all layers)": 0})
        nested = self.table("layer", nested=True).set_index("layer")["stall_ns"].to_dict()
        self.assertEqual(nested, {"(everything)": 22_000_000, "net:Net": 22_000_000, "net:Net / fc:Linear": 22_000_000})

    def test_memory_by_tensor_and_by_the_layer_that_allocated_it(self):
        frame = self.table("tensor")
        self.assertEqual(frame["allocation"].tolist(), [1, 2])
        self.assertEqual(frame["stall_ns"].tolist(), [15_000_000, 7_000_000])
        self.assertEqual(frame["lifetime"].tolist(), ["program", "iteration"])
        owners = self.table("owner")
        self.assertEqual(owners["layer"].tolist(), ["(outside of all layers)", "net:Net / fc:Linear"])
        self.assertEqual(owners["stall_ns"].tolist(), [15_000_000, 7_000_000])

    def test_the_screen_shows_the_top_and_the_file_all(self):
        status, out, err = call(profile_tables.main, self.profile, "--top", 1, "--csv", self.path("kernels.csv"))
        self.assertEqual((status, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(lines[0], "gpt2, a100-pcie-80g, layout none, factor 2; iteration 1, by kernel")
        self.assertRegex(lines[3], r"^matmul +1 +24\.00 +20\.00 +10 +500 +0 +2\.0 +1\.0 +5 +8\.4$")
        self.assertEqual(lines[4], "... and 2 more with 2.00 ms of stalls")
        with open(self.path("kernels.csv"), encoding="utf-8") as file:
            self.assertEqual([row["name"] for row in csv.DictReader(file)], ["matmul", "add", "softmax"])

    def test_every_table_prints(self):
        for by in ("kernel", "layer", "owner", "tensor"):
            status, out, err = call(profile_tables.main, self.profile, "--by", by, "--top", 0)
            self.assertEqual((status, err), (0, ""), by)
            self.assertIn("stall ms", out)

    def test_what_is_refused(self):
        refuse = self.assert_refused
        refuse(profile_tables.main, self.path("absent"), says="cannot read")
        refuse(profile_tables.main, self.write("text", "hello"), says="not an SQLite file")
        refuse(profile_tables.main, write_profile(self.path("new"), schema="uvmsim.profile/9"), says="uvmsim.profile/1")
        refuse(profile_tables.main, self.profile, "--iteration", "7", says="allowed: last, all, 0 to 1")
        refuse(profile_tables.main, self.profile, "--top", "-1", says="allowed: 0 or more")
        refuse(profile_tables.main, self.profile, "--nested", says="only with --by layer")
        cut = write_profile(self.path("cut"))
        with open(cut, "r+b") as file:
            file.truncate(os.path.getsize(cut) // 3)
        refuse(profile_tables.main, cut, says="not a profile of uvmsim")


class HeatMapTest(FolderTest):
    def test_cells_hold_what_the_profile_says(self):
        with Profile(write_profile(self.path("a.profile"))) as profile:
            grid = grid_of(profile, 0)
            residency, reuse = matrix_of(profile, grid, "residency"), matrix_of(profile, grid, "reuse")
        self.assertEqual(residency.shape, (4, 8))  # addresses upwards, time to the right
        self.assertEqual(residency[:3, 0].tolist(), [50, 100, 100])
        self.assertTrue(numpy.isnan(residency[3]).all())
        self.assertEqual(reuse[:3, 5].tolist(), [1, 10, 100])

    def test_all_maps_are_drawn_and_the_same_twice(self):
        path = write_profile(self.path("a.profile"))
        show = "residency,reuse,faults,loads,evictions"
        pictures = []
        for name in ("first", "second"):
            status, out, err = call(plot_heatmap.main, path, "-o", self.path(f"{name}.png"), "--show", show)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(out.count("figure: "), 2)
            for ending in ("png", "pdf"):
                with open(self.path(f"{name}.{ending}"), "rb") as file:
                    pictures.append(file.read())
        self.assertEqual(pictures[:2], pictures[2:])
        self.assertGreater(len(pictures[0]), 20000)

    def test_one_iteration(self):
        path = write_profile(self.path("a.profile"))
        status, _, err = call(plot_heatmap.main, path, "-o", self.path("a"), "--iteration", "last")
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(os.path.exists(self.path("a.png")))

    def test_what_is_refused(self):
        path = write_profile(self.path("a.profile"))
        out = self.path("a.png")
        self.assert_refused(plot_heatmap.main, path, "-o", out, "--show", "magic", says="allowed: residency, reuse")
        self.assert_refused(plot_heatmap.main, path, "-o", out, "--device", "3", says="allowed: 0")
        empty = write_profile(self.path("empty.profile"), with_heat=False)
        self.assert_refused(plot_heatmap.main, empty, "-o", out, says="holds no heat map")
        self.assertFalse(os.path.exists(out))


class KernelSetTest(FolderTest):
    def test_working_sets_come_from_the_profiles_of_the_models(self):
        os.mkdir(self.path("profiles"))
        write_profile(self.path("profiles/gpt2.profile"), "gpt2")
        write_profile(self.path("profiles/a.profile"), "alexnet")
        rows = load_kernels(self.path("profiles"))
        self.assertEqual(rows["program"].tolist(), ["alexnet"] * 6 + ["gpt2"] * 6)  # only iterations are listed
        self.assertEqual(rows["touched_bytes"].tolist()[:3], [8 << 20, 1 << 20, 1 << 20])
        self.assertEqual(set(rows["footprint_bytes"]), {10**10})
        self.assertIsNone(load_kernels(self.path("absent")))

    def test_the_paper_finds_them_beside_its_results(self):
        results = write_lines(paper_points(), self.path("results.jsonl"))
        os.mkdir(self.path("profiles"))
        write_profile(self.path("profiles/gpt2.profile"), "gpt2")
        status, out, err = call(paper_command.main, results, "--no-figures")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("22 claims: 20 holds, 2 definition", out)
        write_profile(self.path("profiles/b.profile"), "stencil3d")
        self.assert_refused(
            paper_command.main, results, "--no-figures", says="a profile of stencil3d; allowed: alexnet"
        )


if __name__ == "__main__":
    unittest.main()
