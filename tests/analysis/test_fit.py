# SPDX-License-Identifier: Apache-2.0
"""The figure and the table of `uvmsim fit`, of the real command where there is one."""

import json
import subprocess
import unittest

from commands import call
from test_figures import PictureTest
from test_real_results import COMMAND

from analysis import plot_fit


def machine(system, **values):
    numbers = dict(osf_thousandths=679, fits=True, time_ns=282_856_000, low_ns=282_000_000, high_ns=284_500_000, is_settled=True,
                   slowdown_thousandths=1000, affordable_osf_thousandths=1050)  # fmt: skip
    return {"system": system, **numbers, **values}


def made_up():
    return {
        "schema": plot_fit.SCHEMA,
        "trace": {"file": "a.uvmt", "sha256": ""},
        "layout": "recorded",
        "budget_thousandths": 2000,
        "machines": [
            machine("roomy", affordable_osf_thousandths=plot_fit.LARGEST),
            machine("small", osf_thousandths=1340, fits=False, slowdown_thousandths=5250, is_settled=False),
        ],
    }


class FitFigures(PictureTest):
    def test_an_answer_is_printed_and_drawn(self):
        path = self.write("fit.json", json.dumps(made_up()))
        status, out, err = call(plot_fit.main, path, "--table", "-o", self.path("figure"))
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"roomy +0\.679 +yes +282\.856 +282\.000-284\.500 +1\.000 +at least 4\.00")
        self.assertRegex(out, r"small +1\.340 +no .* 5\.250\* +1\.05")
        self.assertRegex(out, "figure: .*figure.png\nfigure: .*figure.pdf")

    def test_what_is_no_answer_is_one_line(self):
        broken = made_up()
        del broken["machines"][0]["time_ns"]
        for text in ("{", "[]", json.dumps(made_up() | {"schema": "uvmsim.fit/0"}), json.dumps(made_up() | {"machines": []}), json.dumps(broken)):
            status, out, err = call(plot_fit.main, self.write("bad.json", text))
            self.assertEqual((status, err.count("\n")), (2, 1), text)

    @unittest.skipUnless(COMMAND, "needs the command")
    def test_the_command_s_answer_is_drawn(self):
        lines = [{"t": "header", "major": 1, "quantum_bytes": 4096}, {"t": "object_alloc", "id": 1, "bytes": 32 << 20}]
        for index in range(2):
            lines += [{"t": "range", "kind": "iteration_begin", "index": index},
                      {"t": "kernel", "name": "k", "grid": [64], "block": [256], "duration_ns": 100000, "accesses": [[1, [[0, 8192, "rw"]]]]},
                      {"t": "range", "kind": "iteration_end", "index": index}]  # fmt: skip
        trace = self.write("t.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        answer = self.path("fit.json")
        subprocess.run([COMMAND, "fit", trace, "--gpus", "h200-sxm-pcie5,t4-pcie3", "--json", answer], check=True, capture_output=True)
        status, out, err = call(plot_fit.main, answer)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, "t4-pcie3 +0.002 +yes")


if __name__ == "__main__":
    unittest.main()
