# SPDX-License-Identifier: Apache-2.0
"""Small traces, and the command to compare with."""

import json
import os
import subprocess
import tempfile
import unittest

import uvmsim

COMMAND = os.environ["UVMSIM_COMMAND"]
SYSTEM = "h200-sxm-pcie5"
MIB = 1 << 20


def lines(mib=16, iterations=3):
    """Returns the lines of a trace whose iterations use one object: all of it, then a quarter twice, then every fourth
    page."""
    pages = mib * MIB // 4096
    yield {"t": "header", "major": 1, "minor": 0, "quantum_bytes": 4096}
    yield {"t": "object_alloc", "id": 1, "bytes": mib * MIB}
    quarter = [[pages // 4, pages // 4, "r"]]
    sparse = [[page, 1, "rw"] for page in range(0, pages, 4)]
    for index in range(iterations):
        yield {"t": "range", "kind": "iteration_begin", "index": index}
        for runs in ([[0, pages, "rw"]], quarter, quarter, sparse):
            kernel = {"t": "kernel", "name": "k", "grid": [64], "block": [256], "duration_ns": 100000}
            yield {**kernel, "accesses": [[1, runs]]}
        yield {"t": "range", "kind": "iteration_end", "index": index}
    yield {"t": "object_free", "id": 1}


def cyclic_scan(blocks, rounds):
    """Returns the lines of a trace that cycles over 2 MB blocks, with a kernel for each."""
    yield {"t": "header", "major": 1, "minor": 0, "quantum_bytes": 4096}
    yield {"t": "object_alloc", "id": 1, "bytes": 2 * blocks * MIB}
    for block in rounds * list(range(blocks)):
        kernel = {"t": "kernel", "name": "k", "grid": [64], "block": [256], "duration_ns": 100000}
        yield {**kernel, "accesses": [[1, [[512 * block, 512, "rw"]]]]}


class Recorded(uvmsim.Trace):
    """A trace that runs as many iterations as were recorded, because few tests need a run that has settled."""

    def run(self, system, **options):
        return super().run(system, **{"iterations": "recorded", **options})


class TraceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(self.path("a.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines())
        self.trace = Recorded(self.path("a.jsonl"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def command(self, *options):
        line = [COMMAND, "run", "a.jsonl", "--system", SYSTEM, *options]
        return subprocess.run(line, cwd=self.folder, capture_output=True, text=True, check=False)
