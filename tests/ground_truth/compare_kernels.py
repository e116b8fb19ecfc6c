#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints measured and simulated fault batches, raw faults and times of single kernels, summed by kernel name.

    compare_kernels.py UVMSIM [MODEL...] [--aside] [--match REGEX] [--set KEY=VALUE...] [--width N] [--totals]

data/model_kernels_h200.csv.zst holds every kernel of a training step of fourteen models, measured on one H200
(tracer/ground_truth/model_kernels.py). The last recorded step of each is replayed on h200-sxm-pcie5 without the
caching allocator. Seven models are put aside: nothing is fitted to them, and their kernels are not looked at; with
--aside their totals are printed, and nothing else. Times were measured while a profiler listened; batches do not depend on
that. `step` has every batch once, those of copies and fills too. A measured batch counts for every kernel that runs
meanwhile, a simulated one for one kernel, so kernels that run beside each other (senet154) can only be compared as a
whole. --totals: only the steps. Exit status 1 if the kernels are not the measured ones, 2 if a command or file is missing.
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
SEEN = ("alexnet", "gpt2", "resnet50", "vit", "inception_v3", "resnet152", "efficientnet_b3")
ASIDE = ("bert", "whisper", "resnet101", "senet154", "densenet121", "convnext_tiny", "swin_t")
H100 = ("densenet121", "convnext_tiny", "swin_t", "efficientnet_b3")  # recorded there


def measured_kernels():
    """Returns by model (name, ms, batches, raw faults) of the whole step, whose name is empty, and of every kernel."""
    data = os.path.join(FOLDER, "data", "model_kernels_h200.csv.zst")
    text = subprocess.run(["zstd", "-dcq", data], capture_output=True, text=True, check=True).stdout
    kernels = {}
    for row in csv.DictReader(io.StringIO(text)):
        kernel = row["name"], float(row["us"]) / 1e3, int(row["fault_batches"]), int(row["raw_faults"])
        kernels.setdefault(row["model"], []).append(kernel)
    return kernels


def simulated_kernels(uvmsim, model, settings):
    """Returns the same of the last simulated iteration."""
    trace = os.path.join(TOP, "workloads", "h100" if model in H100 else "", f"{model}.uvmt")
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile.sqlite")
        command = [uvmsim, "run", trace, "--system", "h200-sxm-pcie5"]
        command += ["--layout", "none", "--iterations", "recorded", "--no-unlimited-run", "--profile", profile]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        database = sqlite3.connect(profile)
        last = "where iteration = (select max(iteration) from kernels)"
        kernels = database.execute(f"select name, duration_ns / 1e6, fault_batches, raw_faults from kernels {last}").fetchall()
        batches, raw = database.execute(f"select sum(fault_batches), sum(raw_faults) from operations {last}").fetchone()
        database.close()
        return [("", sum(kernel[1] for kernel in kernels), batches, raw), *kernels]


def common(name):
    """Returns the name without what differs from build to build of a library."""
    return re.sub(r"_GLOBAL__N__[0-9a-f]+_\d+_\w+?_cu_[0-9a-f]{8,10}", "_GLOBAL__N__", name)


def short(name, width):
    """Returns the part of a mangled name that distinguishes kernels, without leading namespaces."""
    name = re.sub(r"^_ZN?\d*", "", common(name))
    return re.sub(r"^(cudnn|at6native|engines_precompiled|_GLOBAL__N__|\d+)+", "", name)[:width]


def print_row(model, name, width, total):
    count, ms, ms_here, batches, batches_here, raw, raw_here = total
    change = f"{100 * (batches_here / batches - 1):+.0f} %" if batches else ""
    print(f"{model:16}{name:{width}} {count:5}  {ms:9.1f} / {ms_here:9.1f}  {batches:8} / {batches_here:6} {change:>7}"
          f"   {raw / max(batches, 1):4.0f} / {raw_here / max(batches_here, 1):4.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uvmsim")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--aside", action="store_true", help="the models that are put aside; only their totals")
    parser.add_argument("--totals", action="store_true", help="only the steps")
    parser.add_argument("--match", default="", help="only kernels whose names match")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for `uvmsim run`")
    parser.add_argument("--width", type=int, default=44, help="characters of a name that tell kernels apart")
    given = parser.parse_args()
    models = ASIDE if given.aside else SEEN
    for model in given.models:
        if model not in models:
            parser.error(f"no model '{model}'; allowed: {', '.join(models)}")
    measured = measured_kernels()
    print(f"{'':16}{'kernel':{given.width}}     n   ms measured / here      batches measured / here      raw faults of each")
    for model in given.models or models:
        simulated = simulated_kernels(given.uvmsim, model, given.set)
        # cuDNN runs some kernels of a call beside each other: the order of their starts is not that of the trace.
        if sorted(common(kernel[0]) for kernel in measured[model]) != sorted(common(kernel[0]) for kernel in simulated):
            print(f"{model}: the trace holds other kernels than were measured", file=sys.stderr)
            return 1
        sums = {}
        total_name = "all of these" if given.match else "step"
        for here, kernels in enumerate((measured[model], simulated)):
            for name, *values in kernels:
                if given.match and not (name and re.search(given.match, name)):
                    continue
                for key in (short(name, given.width), total_name) if given.match else (short(name, given.width) or total_name,):
                    total = sums.setdefault(key, [0] * 7)
                    total[0] += 1 - here
                    for i, value in enumerate(values):
                        total[1 + 2 * i + here] += value
        for name, total in sorted(sums.items(), key=lambda item: -item[1][3]):
            if name == total_name or not (given.totals or given.aside):
                print_row(model, name, given.width, total)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"compare_kernels: error: {error}", file=sys.stderr)
        sys.exit(2)
