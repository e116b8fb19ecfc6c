# SPDX-License-Identifier: Apache-2.0
"""The package reads the output of the real command. Needs the command: UVMSIM_COMMAND, as ctest sets it."""

import json
import os
import subprocess
import unittest

from commands import FolderTest

from analysis.euromlsys25.paper import ALL, PCA, SETTLED, Paper
from analysis.frame import iterations, settled, whole_runs
from analysis.results import load

COMMAND = os.environ.get("UVMSIM_COMMAND")
MIB = 1 << 20
KERNELS_NS = (500_000, 300_000, 300_000)  # one per iteration


def trace_lines():
    """Returns three iterations, each with a kernel over all of 16 MiB and a synchronisation."""
    yield {"t": "header", "major": 1, "minor": 0, "quantum_bytes": 4096}
    yield {"t": "object_alloc", "id": 1, "bytes": 16 * MIB}
    for index, duration in enumerate(KERNELS_NS):
        yield {"t": "range", "kind": "iteration_begin", "index": index}
        accesses = [[1, [[0, 16 * MIB // 4096, "rw"]]]]
        yield {"t": "kernel", "name": "k", "grid": [64], "block": [256], "duration_ns": duration, "accesses": accesses}
        yield {"t": "sync", "kind": "device"}
        yield {"t": "range", "kind": "iteration_end", "index": index}


@unittest.skipUnless(COMMAND, "UVMSIM_COMMAND does not name the command")
class IdealTimeTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.write("alexnet.uvmt", "".join(json.dumps(line) + "\n" for line in trace_lines()))

    def run_command(self, *arguments):
        done = subprocess.run([COMMAND, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def ideal_times(self):
        """Checks times computed by hand: the launch, then the kernel; the host waits before the next one."""
        with open(self.path("run.json"), encoding="utf-8") as file:
            launch = json.loads(file.readline())["system"]["runtime"]["launch_ns"]
        return [launch + duration for duration in KERNELS_NS]

    def test_each_iteration_has_its_own_in_runs_and_sweeps(self):
        self.run_command(*"run alexnet.uvmt --system a100-pcie-80g --osf 2 --iterations recorded --json run.json".split())
        spec = {"traces": "alexnet.uvmt", "systems": "a100-pcie-80g", "osf": 2, "iterations": "recorded"}
        self.write("sweep.json", json.dumps(spec))
        self.run_command("sweep", "sweep.json", "-o", "sweep")
        expected = self.ideal_times()
        for results in ("run.json", "sweep"):
            frame = load([self.path(results)])
            self.assertEqual(iterations(frame)["ideal_ns"].tolist(), expected, results)
            self.assertEqual(settled(frame)["ideal_ns"].tolist(), expected[-1:], results)
            self.assertEqual(whole_runs(frame)["ideal_ns"].tolist(), [sum(expected)], results)

    def test_the_paper_s_claims_read_it(self):
        spec = {"traces": "alexnet.uvmt", "systems": "a100-pcie-80g", "layouts": "pytorch_caching", "osf": "none",
                "iterations": "recorded"}
        self.write("sweep.json", json.dumps(spec))
        self.run_command("sweep", "sweep.json", "-o", "sweep")
        self.run_command(*"run alexnet.uvmt --system a100-pcie-80g --json run.json".split())
        expected = self.ideal_times()
        paper = Paper(load([self.path("sweep")]))
        self.assertEqual(paper.unlimited("ideal_ns", PCA, SETTLED).to_dict(), {"alexnet": expected[-1]})
        self.assertEqual(paper.unlimited("ideal_ns", PCA, ALL).to_dict(), {"alexnet": sum(expected)})


if __name__ == "__main__":
    unittest.main()
