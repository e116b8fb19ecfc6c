#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares whole models that were not used for any choice, on the machine of data/pytorch_h100_unseen.json, measured
and simulated.

    compare_models.py UVMSIM SYSTEM [MODEL...]

SYSTEM: h100-sxm, or the file that `uvmsim calibrate tests/ground_truth/data/uvm_h100.jsonl.zst --system h100-sxm
--holdout 4 -o h100.json` wrote. For the last recorded training step, without the caching allocator, prints wall time
(measured: the median of the steps after the first, no profiler), kernel time and fault batches (both measured under
a profiler: the mean).
"""
import json
import os
import statistics
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(FOLDER))


def simulated(uvmsim, system, model):
    command = [uvmsim, "run", os.path.join(TOP, "workloads", "h100", f"{model}.uvmt"), "--system", system]
    command += ["--layout", "none", "--iterations", "recorded", "--no-unlimited-run", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    last = json.loads(done.stdout)["iterations"][-1]
    counters = last["counters"]
    return (last["end_ns"] - last["begin_ns"]) / 1e6, counters["kernel_ns"] / 1e6, counters["fault_batches"]


def measured(rows):
    wall = statistics.median(row["wall_alone_ms"] for row in rows["managed_nopca"][1:])
    settled = rows["managed_nopca_profiled"][1:]
    return wall, *(statistics.mean(row[key] for row in settled) for key in ("kernel_ms", "fault_batches"))


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    with open(os.path.join(FOLDER, "data", "pytorch_h100_unseen.json"), encoding="utf-8") as file:
        models = json.load(file)
    del models["source"]
    chosen = sys.argv[3:] or list(models)
    unknown = [model for model in chosen if model not in models]
    if unknown:
        print(f"compare_models: unknown model '{unknown[0]}'; allowed: {', '.join(models)}", file=sys.stderr)
        return 2
    print("| model | wall ms | kernels ms (profiled) | fault batches |\n|---|---|---|---|")
    for model in chosen:
        pairs = zip(measured(models[model]), simulated(sys.argv[1], sys.argv[2], model))
        cells = (f"{there:.0f} / {here:.0f} {100 * (here / there - 1):+.1f} %" for there, here in pairs)
        print(f"| {model} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
