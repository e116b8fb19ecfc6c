#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""observer_costs.py finds the costs from which made-up experiments were computed."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "tracer", "ground_truth"))
import observer_costs  # noqa: E402  pylint: disable=wrong-import-position

FAULT, REPLAY, COPY = 80, 900, 3000


def run(kernel_ns, faults, replays, copies, dropped=0):
    return {"kernel_ns": kernel_ns, "host_ns": 0, "raw_faults": faults, "replays": replays, "migrations": copies,
            "dropped": dropped}


def experiment(name, alone, faults, replays, copies, dropped=0):
    records = faults * FAULT + replays * REPLAY
    return {
        "name": name,
        # One run of three is disturbed.
        "nobody": [run(alone, 0, 0, 0), run(alone, 0, 0, 0), run(9 * alone, 0, 0, 0)],
        "queue_faults": [run(alone + records, faults, replays, 0)] * 3,
        "queue": [run(alone + records + copies * COPY, faults, replays, copies, dropped)] * 3,
        "cupti": [run(alone + 2 * records + copies * COPY, 0, replays, copies)] * 3,
    }


class ObserverCostsTest(unittest.TestCase):
    def printed(self, lines):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
            file.flush()
            out = io.StringIO()
            with mock.patch.object(sys, "argv", ["observer_costs.py", file.name]), contextlib.redirect_stdout(out):
                self.assertEqual(observer_costs.main(), 0)
        return out.getvalue()

    def test_costs_come_out_as_they_went_in(self):
        text = self.printed([
            experiment("a", 1_000_000, 1000, 20, 300),
            experiment("b", 5_000_000, 9000, 90, 0),
            experiment("c", 3_000_000, 500, 60, 1500),
            experiment("d", 200_000, 40, 3, 10),
            experiment("lost", 200_000, 40, 3, 10, dropped=1),
        ])
        self.assertIn("4 experiments, 1 left out: records were dropped", text)
        self.assertIn("| queue_faults | 80 | 900 | 0 |", text)
        self.assertIn("| queue | 80 | 900 | 3000 |", text)
        self.assertIn("| cupti | 160 | 1800 | 3000 |", text)
        self.assertIn("| new memory | 1 |", text)
        self.assertIn("| data on the host | 3 |", text)

    def test_no_cost_is_below_nothing(self):
        faster = experiment("a", 1_000_000, 1000, 20, 0)
        faster["queue_faults"] = [run(900_000, 1000, 20, 0)] * 3
        self.assertIn("| queue_faults | 0 | 0 | 0 |", self.printed([faster, experiment("b", 1_000_000, 0, 0, 10)]))


if __name__ == "__main__":
    unittest.main()
