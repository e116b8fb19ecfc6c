#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the errors of single library calls by kind of kernel: data/library_classes_*.jsonl.zst against the model.

    score_classes.py UVMSIM [FILE...] [--system NAME] [--held-out] [--each] [--only REGEX] [--set KEY=VALUE...]
    score_classes.py --repeatability

Half of the calls may be looked at while the model is changed; the others are held out. A call's name alone
determines its half (dev() in tracer/ground_truth/call_classes.py). Without --held-out only the first half is
replayed and printed, with it only the other half, which should be done only once, at the end. --each prints every
call. FILE: those two files by default, each on its own system. Exit status 2 if a command or file is missing.
--repeatability prints how much two measurements of the same call differ, which is a lower limit for the error of any
model: the calls that may be looked at on the H200 and on the H100, and the loops of data/loops_h200.jsonl.zst, each
made twice on one machine.
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


def lines_of(path):
    return subprocess.run(["zstd", "-dcq", path], capture_output=True, text=True, check=True).stdout


def half(path, held_out, only):
    """Returns the lines of one half, as text."""
    text = lines_of(path)
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
    """Returns the relative errors of time and batches, with signs."""
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
    copied = [e["transactions"] for e in experiments if e["transactions"]["measured"]]
    copies = [(pair["simulated"] - pair["measured"]) / pair["measured"] for pair in copied]
    copies_text = f"{'-':>17}"
    if copies:
        copies_text = f"{100 * statistics.median(map(abs, copies)):6.1f} % ({100 * statistics.median(copies):+6.1f})"
    return (f"{title:34} {len(pairs):4}   {medians[0]:6.1f} % ({signs[0]:+6.1f})  {medians[1]:6.1f} % ({signs[1]:+6.1f})"
            f"  {copies_text}   {within:4} ({100 * within / len(pairs):3.0f} %)")


def print_scores(title, experiments, each):
    print(f"{title}\n{'':34}    n   time: median, signed  batches: median, signed  copies: median    within")
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


def measured(experiment):
    """Returns the time of the kernels and the number of fault batches."""
    events = experiment["events"]
    calls = [event for event in events if isinstance(event, dict)]
    kernels = [(k["start_ns"], k["end_ns"]) for k in calls] or [e[1:3] for e in events if e[0] == "kernel"]
    batches = sum(isinstance(event, list) and event[0] == "gpu_fault" for event in events)
    return sum(end - start for start, end in kernels), batches


def print_differences(title, pairs):
    """Prints the differences between two measurements of the same call: the larger divided by the smaller, in the
    median."""
    columns = []
    for i in (0, 1):
        apart = [max(a[i], b[i]) / min(a[i], b[i]) - 1 for a, b in pairs if a[i] and b[i]]
        columns.append(f"{100 * statistics.median(apart):5.1f} %")
    print(f"{title:44} {len(pairs):4} pairs   time {columns[0]}   batches {columns[1]}")


def print_repeatability():
    def data(name):
        return [json.loads(line) for line in lines_of(os.path.join(FOLDER, "data", f"{name}.jsonl.zst")).splitlines()]

    first = {}
    for name in SYSTEMS:
        first[name] = {e["name"]: measured(e) for e in data(name)
                       if (e["inputs_on"], e["outputs_on"]) == ("gpu", "nowhere") and call_classes.dev(e["name"])}
    h200, h100 = first["library_classes_h200"], first["library_classes_h100"]
    print_differences("calls on the H200 and on the H100", [(h200[n], h100[n]) for n in h200 if n in h100])
    loops = {e["name"]: measured(e) for e in data("loops_h200")}
    print_differences("loops twice on one H200", [(loops[n], loops[f"{n}_rep2"]) for n in loops if f"{n}_rep2" in loops])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uvmsim", nargs="?")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--system", help="for all files")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--repeatability", action="store_true")
    parser.add_argument("--only", default="", metavar="REGEX", help="names that match")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for `uvmsim validate`")
    given = parser.parse_args()
    if given.repeatability:
        return print_repeatability()
    if given.uvmsim is None:
        parser.error("which uvmsim?")
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
