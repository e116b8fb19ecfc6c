#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints measured and simulated kernel times of training steps with all memory in place on the host, summed by kernel
name.

    compare_remote_steps.py UVMSIM [MODEL...] [--kernels N] [--set KEY=VALUE...]

MODEL: gpt2, resnet50 (data/remote_steps_h200.jsonl.zst, an H200), both by default. The last recorded step of each in
workloads/h100 is replayed on h200-sxm-pcie5 with the policy host_pinned. Prints a line per kernel name, longest
first: launches, measured and simulated, ms on the GPU, measured and simulated ms in place, their ratio. Exit status
1 if the kernels are not the measured ones, 2 if a command or file is missing.
"""
import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(FOLDER))


def measured_kernels():
    """Returns by model the lines of the data, one per kernel name."""
    data = os.path.join(FOLDER, "data", "remote_steps_h200.jsonl.zst")
    text = subprocess.run(["zstd", "-dcq", data], capture_output=True, text=True, check=True).stdout
    models = {}
    for line in map(json.loads, text.splitlines()):
        models.setdefault(line["model"], []).append(line)
    return models


def simulated_kernels(uvmsim, model, settings):
    """Returns (name, ms) of each kernel of the last iteration."""
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile.sqlite")
        command = [uvmsim, "run", os.path.join(TOP, "workloads", "h100", f"{model}.uvmt"), "--system", "h200-sxm-pcie5",
                   "--migrate", "host_pinned", "--iterations", "recorded", "--profile", profile]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        database = sqlite3.connect(profile)
        rows = database.execute("select name, duration_ns / 1e6 from kernels"
                                " where iteration = (select max(iteration) from kernels) order by record").fetchall()
        database.close()
        return rows


def demangled(names):
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return text.splitlines()


def plain(name):
    """Removes from a name what demanglers write differently."""
    name = name.replace("void ", "", 1) if name.startswith("void ") else name
    return "".join(c for c in name.split("(")[0].split("<")[0] if not c.isspace())


def compare(model, measured, simulated, most):
    by_name = {}
    for (_, ms), name in zip(simulated, demangled([name for name, _ in simulated])):
        entry = by_name.setdefault(plain(name), [0, 0.0])
        entry[0] += 1
        entry[1] += ms
    lines = {}
    for line in measured:
        entry = lines.setdefault(plain(line["kernel"]), [0, 0.0, 0.0])
        entry[0] += line["count"]
        entry[1] += line["device_ns"] / 1e6
        entry[2] += line["remote_ns"] / 1e6
    total = [sum(entry[2] for entry in lines.values()), sum(entry[1] for entry in by_name.values())]
    print(f"{model:9} {sum(e[0] for e in lines.values()):4} launches, {total[0]:8.1f} ms measured, {total[1]:8.1f} "
          f"simulated, {total[1] / total[0]:.2f}")
    same = True
    for name, (count, device, remote) in sorted(lines.items(), key=lambda item: -item[1][2])[:most]:
        launches, ms = by_name.get(name, (0, 0.0))
        same = same and launches == count
        print(f"  {count:4} {launches:4} {device:8.2f} {remote:8.1f} {ms:8.1f} {ms / remote:5.2f} {name[:100]}")
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uvmsim")
    parser.add_argument("models", nargs="*", default=["gpt2", "resnet50"])
    parser.add_argument("--kernels", type=int, default=12, help="names to print of each model")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    try:
        models = measured_kernels()
        same = [compare(model, models[model], simulated_kernels(options.uvmsim, model, options.set), options.kernels)
                for model in options.models]
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        print(f"compare_remote_steps: {error!r}", file=sys.stderr)
        return 2
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
