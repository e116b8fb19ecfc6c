#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints measured and simulated fault batches and times of single kernels, summed by kernel name.

    compare_kernels.py UVMSIM [MODEL...] [--match REGEX] [--set KEY=VALUE...] [--width N]

MODEL: vit, inception_v3, resnet152, senet154 (data/pytorch_h200_unseen_kernels.csv.zst), all by default. The last
recorded step of each is replayed on h200-sxm-pcie5 without the caching allocator. Times were measured under a
profiler on a machine with a slow host; batches do not depend on that. A measured batch counts for every kernel that
runs meanwhile, a simulated one for one kernel, so kernels on several streams (senet154) cannot be compared. Exit
status 1 if the kernels are not the measured ones, 2 if a command or file is missing.
"""
import argparse
import csv
import io
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(FOLDER))
MODELS = ("vit", "inception_v3", "resnet152", "senet154")


def measured_kernels():
    """Returns by model (name, ms, batches) of every kernel in order."""
    data = os.path.join(FOLDER, "data", "pytorch_h200_unseen_kernels.csv.zst")
    text = subprocess.run(["zstd", "-dcq", data], capture_output=True, text=True, check=True).stdout
    kernels = {}
    for row in csv.DictReader(io.StringIO(text)):
        kernels.setdefault(row["model"], []).append((row["name"], float(row["us"]) / 1e3, int(row["fault_batches"])))
    return kernels


def simulated_kernels(uvmsim, model, settings):
    """Returns the same for the last simulated iteration."""
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile.sqlite")
        command = [uvmsim, "run", os.path.join(TOP, "workloads", f"{model}.uvmt"), "--system", "h200-sxm-pcie5"]
        command += ["--layout", "none", "--iterations", "recorded", "--profile", profile]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        database = sqlite3.connect(profile)
        rows = database.execute(
            "select name, duration_ns / 1e6, fault_batches from kernels"
            " where iteration = (select max(iteration) from kernels) order by record"
        ).fetchall()
        database.close()
        return rows


def short(name, width):
    """Returns the part of a mangled name that distinguishes kernels, without leading namespaces."""
    name = re.sub(r"^_ZN?\d*", "", name)
    return re.sub(r"^(cudnn|at6native|engines_precompiled|_GLOBAL__N__[0-9a-f]+_\d+_|\d+)+", "", name)[:width]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uvmsim")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--match", default="", help="only kernels whose names match")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for `uvmsim run`")
    parser.add_argument("--width", type=int, default=44, help="characters of a name that tell kernels apart")
    given = parser.parse_args()
    for model in given.models:
        if model not in MODELS:
            parser.error(f"no model '{model}'; allowed: {', '.join(MODELS)}")
    measured = measured_kernels()
    print(f"{'':14}{'kernel':{given.width}}    n   ms measured / here      batches measured / here")
    for model in given.models or MODELS:
        simulated = simulated_kernels(given.uvmsim, model, given.set)
        if [kernel[0] for kernel in measured[model]] != [kernel[0] for kernel in simulated]:
            print(f"{model}: the trace holds other kernels than were measured", file=sys.stderr)
            return 1
        sums = {}
        for there, here in zip(measured[model], simulated):
            if not re.search(given.match, there[0]):
                continue
            for key in (short(there[0], given.width), "all of these" if given.match else "all"):
                total = sums.setdefault(key, [0, 0.0, 0.0, 0, 0])
                for i, value in enumerate((1, there[1], here[1], there[2], here[2])):
                    total[i] += value
        for name, (count, ms, ms_here, batches, batches_here) in sorted(sums.items(), key=lambda item: -item[1][1]):
            change = f"{100 * (batches_here / batches - 1):+.0f} %" if batches else ""
            print(
                f"{model:14}{name:{given.width}} {count:4}  {ms:9.1f} / {ms_here:9.1f}  {batches:8} / {batches_here:6} {change:>7}"
            )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"compare_kernels: error: {error}", file=sys.stderr)
        sys.exit(2)
