#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well single library calls come out, by kind of kernel: data/library_classes_*.jsonl.zst against the model.

    score_classes.py UVMSIM [FILE...] [--system NAME] [--held-out] [--each] [--only REGEX] [--set KEY=VALUE...]

Half of the calls may be looked at while the model is changed; the others are held out. Which is which follows from a
call's name alone (dev() in tracer/ground_truth/call_classes.py). Without --held-out only the first half is replayed and
printed, with it only the other: for once, at the end. --each prints every call.
FILE: those two files by default, each on its own system. Exit status 2 if a command or file is missing.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(FOLDER)), "tracer", "ground_truth"))
import call_classes  # noqa: E402

SYSTEMS = {"library_classes_h200": "h200-sxm-pcie5", "library_classes_h100": "h100-sxm"}


def half(path, held_out, only):
    """The lines of one half, as text."""
    text = subprocess.run(["zstd", "-dcq", path], capture_output=True, text=True, check=True).stdout
    names = ((json.loads(line)["name"], line) for line in text.splitlines())
    return "\n".join(line for name, line in names if call_classes.dev(name) != held_out and re.search(only, name)) + "\n"


def replayed(uvmsim, lines, system, settings):
    command = [uvmsim, "validate", "-", "--system", system, "--json", "-"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return json.loads(done.stdout)["experiments"]


def errors(experiment):
    """Relative errors of time and batches, with signs."""
    def relative(pair):
        return (pair["simulated"] - pair["measured"]) / pair["measured"] if pair["measured"] else 0.0

    return relative(experiment["judged_ns"]), relative(experiment["fault_batches"])


def place(experiment):
    name = experiment["name"]
    return "outputs on host" if "outputs_host" in name else "inputs on host" if name.endswith("/host") else "first touch"


def row(title, experiments):
    pairs = [errors(experiment) for experiment in experiments]
    medians = [100 * statistics.median(abs(pair[i]) for pair in pairs) for i in (0, 1)]
    signs = [100 * statistics.median(pair[i] for pair in pairs) for i in (0, 1)]
    within = sum(experiment["within"] for experiment in experiments)
    return (f"{title:34} {len(pairs):4}   {medians[0]:6.1f} % ({signs[0]:+6.1f})  {medians[1]:6.1f} % ({signs[1]:+6.1f})"
            f"   {within:4} ({100 * within / len(pairs):3.0f} %)")


def print_scores(title, experiments, each):
    print(f"{title}\n{'':34}    n   time: median, signed  batches: median, signed  within")
    groups = {}
    for experiment in experiments:
        for key in (experiment["name"].split(".")[0], "all: " + place(experiment), "all"):
            groups.setdefault(key, []).append(experiment)
    for key in sorted(groups, key=lambda key: (key.startswith("all"), key)):
        print(row(key, groups[key]))
        for experiment in groups[key] if each and not key.startswith("all") else ():
            batches, time = experiment["fault_batches"], experiment["judged_ns"]
            print(f"  {experiment['name']:60} {batches['measured']:5} / {batches['simulated']:5}"
                  f"  {time['measured'] / 1e6:8.3f} / {time['simulated'] / 1e6:8.3f}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uvmsim")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--system", help="for all files")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--only", default="", metavar="REGEX", help="names that match")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for `uvmsim validate`")
    given = parser.parse_args()
    files = given.files or [os.path.join(FOLDER, "data", f"{name}.jsonl.zst") for name in SYSTEMS]
    for path in files:
        name = os.path.basename(path).split(".")[0]
        system = given.system or SYSTEMS.get(name)
        if system is None:
            parser.error(f"{path}: which --system?")
        lines = half(path, given.held_out, given.only)
        if not lines.strip():
            parser.error(f"{path}: no name matches '{given.only}'")
        what = "held out" if given.held_out else "may be looked at"
        print_scores(f"{name} on {system}: calls that {'are ' if given.held_out else ''}{what}",
                     replayed(given.uvmsim, lines, system, given.set), given.each)


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"score_classes: error: {error}", file=sys.stderr)
        sys.exit(2)
