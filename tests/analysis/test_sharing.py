# SPDX-License-Identifier: Apache-2.0
"""Two programs on one GPU under five policies: the table is what the command said."""

import json
import os
import pathlib
import unittest

from commands import FolderTest, call

from analysis import sharing

UVMSIM = os.environ["UVMSIM_COMMAND"]


def trace(blocks, kernels):
    """JSON lines of a program that reads `blocks` of 2 MiB `kernels` times, each an iteration."""
    pages = blocks * 512
    lines = [
        {"t": "header", "major": 1, "minor": 0, "quantum_bytes": 4096, "tool": "test", "program": "p"},
        {"t": "object_alloc", "id": 1, "bytes": blocks << 21, "va": 1 << 40},
    ]
    for index in range(kernels):
        lines += [
            {"t": "range", "kind": "iteration_begin", "index": index},
            {
                "t": "kernel",
                "name": "k",
                "grid": [64, 1, 1],
                "block": [256, 1, 1],
                "duration_ns": 300000,
                "accesses": [[1, [[0, pages, "r"]]]],
            },
            {"t": "sync", "kind": "device"},
            {"t": "range", "kind": "iteration_end", "index": index},
        ]
    return "\n".join(json.dumps(line) for line in lines) + "\n"


class Sharing(FolderTest):
    def scenario(self, programs=2, **more):
        for number in range(programs):
            self.write(f"{number}.jsonl", trace(6 + number, 6))
        content = {
            "description": "two",
            **{"system": "h200-sxm-pcie5", "shared_osf": 1.3, **more},
            "programs": [{"name": f"p{n}", "trace": f"{n}.jsonl", "gpus": [0]} for n in range(programs)],
        }
        return self.write("two.json", json.dumps(content))

    def test_the_table_is_what_the_command_says(self):
        path = self.scenario()
        content, outcomes = sharing.study(path, UVMSIM, 2)
        self.assertEqual(list(outcomes), list(sharing.POLICIES))
        stock = sharing.call(UVMSIM, content, pathlib.Path(path).parent, True)
        found = outcomes[sharing.STOCK]
        for program in stock["programs"]:
            self.assertEqual(found["evicted"][program["name"]], program["evicted_from"])
            self.assertAlmostEqual(found["slowdowns"][program["name"]] * 1000, program["slowdown_thousandths"], delta=1)
        self.assertAlmostEqual(found["unfairness"] * 1000, stock["unfairness_thousandths"], delta=2)
        self.assertAlmostEqual(found["speedup"] * 1000, stock["weighted_speedup_thousandths"], delta=2)
        first = outcomes["memory first"]
        self.assertEqual(first["evicted"]["p1"]["p0"], 0)
        self.assertGreater(found["evicted"]["p1"]["p0"], 0)
        self.assertIn("| stock | ", sharing.markdown({path: (content, outcomes)}))

    def test_a_figure_and_a_table_are_written(self):
        path = self.scenario()
        out, table = self.path("figure.png"), self.path("table.md")
        status, _, err = call(sharing.main, path, "--uvmsim", UVMSIM, "-o", out, "--markdown", table)
        self.assertEqual(status, 0, err)
        self.assertTrue(os.path.getsize(out) > 10000)
        self.assertIn("weighted speed-up", pathlib.Path(table).read_text(encoding="utf-8"))

    def test_mistakes_are_one_line(self):
        self.assert_refused(sharing.main, self.scenario(1), "--uvmsim", UVMSIM, says="1 programs; allowed: 2")
        self.assert_refused(sharing.main, self.scenario(system="none"), "--uvmsim", UVMSIM, says="none")


if __name__ == "__main__":
    unittest.main()
