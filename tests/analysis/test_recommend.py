# SPDX-License-Identifier: Apache-2.0
"""Figures of placements of embedding tables, of the real command where there is one."""

import json
import subprocess
import unittest

from commands import call
from test_figures import PictureTest
from test_real_results import COMMAND

from analysis import plot_recommend, recommend_sharding

SMALL = {
    "description": "small",
    "tables": {"rows": [20000, 7], "lookups": 2, "dimension": 128},
    "batch": 64,
    "ids": {"zipf_training": 1.15, "zipf_inference": 1.09},
    "dense": {"bottom_mlp": [13, 128], "top_mlp": [8, 1], "precision": "fp32"},
}


def result(name, step, **values):
    numbers = {key: 0 for key, _, _ in plot_recommend.TIERS}
    numbers.update(refused="", steps=2, cache_rows=0, hit_thousandths=0, amplification_thousandths=0)
    return {"placement": name, "step_ns": step, **numbers, **values}


def made_up():
    return {
        "schema": plot_recommend.SCHEMA,
        "workload": "small",
        "system": "h200",
        "training": True,
        "gpu_bytes": 3 << 30,
        "placements": [
            result("device", 500000, device_bytes=300 << 20),
            result("caching_lru", 700000, device_bytes=310 << 20, host_to_device_bytes=20 << 20, cache_rows=100,
                   hit_thousandths=928, amplification_thousandths=151),  # fmt: skip
            {"placement": "ssd", "refused": "ssd: no SSD"},
        ],
    }


class RecommendFigures(PictureTest):
    def test_a_study_is_printed_and_drawn(self):
        path = self.write("study.json", json.dumps(made_up()))
        status, out, err = call(plot_recommend.main, path, "--table", "-o", self.path("figure"))
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"caching_lru +0\.700 +0\.928 +0\.151 +155\.000 +10\.000")
        self.assertRegex(out, r"ssd +–")
        self.assert_figures(["figure"])

    def test_what_is_no_study_is_refused(self):
        self.assert_refused(plot_recommend.main, self.path("missing.json"), says="cannot read")
        self.assert_refused(plot_recommend.main, self.write("text.json", "no"), says="not JSON")
        self.assert_refused(plot_recommend.main, self.write("list.json", "[]"), says="schema None")
        broken = made_up()
        del broken["placements"][0]["step_ns"]
        self.assert_refused(plot_recommend.main, self.write("broken.json", json.dumps(broken)), says="no whole study")

    @unittest.skipUnless(COMMAND, "needs UVMSIM_COMMAND")
    def test_the_command_writes_what_is_drawn(self):
        workload = self.write("small.json", json.dumps(SMALL))
        call_of = [COMMAND, "recommend", workload, "--system", "h200-sxm-pcie5", "--steps", "1", "--gpu-bytes", "4MiB"]
        done = subprocess.run([*call_of, "--json", self.path("study.json")], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        status, out, err = call(plot_recommend.main, self.path("study.json"), "--table", "-o", self.path("figure.png"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("caching_lfu_prefetch", out)


def made_up_shares():
    moved = ("faulting_pages", "host_to_device_bytes", "device_to_host_bytes", "pooled_rows_sent_bytes",
             "row_gradients_sent_bytes", "dense_gradients_sent_bytes")  # fmt: skip
    numbers = {key: (number + 1) * (2 << 20) for number, key in enumerate(moved)}
    return {
        **made_up(),
        "gpus": 2,
        "sharding": "row",
        "optimizer": "adagrad",
        "shares": [{"table_bytes": 2 << 30, "state_bytes": 1 << 30}, {"table_bytes": 1 << 30, "state_bytes": 0}],
        "placements": [
            {"placement": "caching_lru", "refused": "caching_lru: no room"},
            result("vanilla", 1500000, lookup_imbalance_thousandths=1250, **numbers),
        ],
    }


class ShardingTable(PictureTest):
    def test_a_line_per_study(self):
        path = self.write("study.json", json.dumps(made_up_shares()))
        status, out, err = call(recommend_sharding.main, path, path)
        self.assertEqual((status, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(len(lines), 4)
        expected = "| 2 | row | adagrad | 3.0 | 1.0 | 3.0 | 1.00 | – | 1.50 | 1,048,576 | 2 | 3 | 9 | 6.0 | 1.50 | 1.25 |"
        self.assertEqual(lines[3], expected)
        self.assertIn("| caching_lru (ms) | vanilla (ms) | faults |", lines[0])
        self.assertEqual(len({line.count("|") for line in lines}), 1)

    def test_other_placements_are_refused(self):
        other = made_up_shares()
        other["placements"].pop()
        paths = [self.write("a.json", json.dumps(made_up_shares())), self.write("b.json", json.dumps(other))]
        self.assert_refused(recommend_sharding.main, *paths, says="those of the first study")

    def test_what_is_no_study_is_refused(self):
        self.assert_refused(recommend_sharding.main, self.path("missing.json"), says="cannot read")
        old = self.write("old.json", json.dumps(made_up()))
        self.assert_refused(recommend_sharding.main, old, says="no whole study")

    @unittest.skipUnless(COMMAND, "needs UVMSIM_COMMAND")
    def test_the_command_writes_what_is_printed(self):
        workload = self.write("small.json", json.dumps(SMALL))
        done = subprocess.run([COMMAND, "recommend", workload, "--system", "hgx-a100", "--gpus", "2", "--steps", "1",
                               "--gpu-bytes", "8MiB", "--placement", "device,vanilla", "--json",
                               self.path("study.json")], capture_output=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        status, out, err = call(recommend_sharding.main, self.path("study.json"))
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"\| 2 \| table_bytes \| sgd \|")


if __name__ == "__main__":
    unittest.main()
