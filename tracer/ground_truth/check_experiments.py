#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks whether the results of uvm_experiments are plausible: prints counts by mode, and makes checks that hold on
every GPU.

    ./check_experiments.py EXPERIMENTS.jsonl

Needs only the standard library. Exit code 1 if a check fails.
"""
import json
import sys

PAGE, BLOCK = 4096, 2 << 20


def failures(experiment):
    events = experiment["events"]
    size = (experiment["bytes"] + BLOCK - 1) // BLOCK * BLOCK
    moved = {"htod": 0, "dtoh": 0, "dtod": 0}
    for kind, start, end, offset, value, flags in events:
        if kind in moved:
            moved[kind] += value
            if value % PAGE or offset % PAGE:
                yield f"{kind} of {value} bytes at {offset}: no whole pages"
        if kind == "gpu_fault" and flags not in (1, 2, 3, 4):
            yield f"gpu_fault with access type {flags}"
        if (kind in moved or kind == "gpu_fault") and end < start:
            yield f"{kind} ends before it starts"
    kernels = [event for event in events if event[0] == "kernel"]
    if experiment["mode"] != "prefetch" and not kernels:
        yield "no kernel"
    elsewhere = experiment["host_populated"] + experiment.get("peer_resident", [])
    all_elsewhere = sum(length for _, length in elsewhere) == experiment["bytes"] and experiment["advise"] == "none"
    arrived = moved["htod"] + moved["dtod"]
    if experiment["mode"] == "ordered":
        touched = {page * PAGE for page, _ in experiment["touches"]}
        stray = [e[3] for e in events if e[0] == "gpu_fault" and e[3] not in touched]
        if stray:
            yield f"{len(stray)} faults on pages that no touch names, first {stray[0]}"
        lone = [e for e in events if e[0] == "gpu_fault" and e[4] != 1]
        if lone:
            yield f"{len(lone)} batches with more than one fault, where one thread makes one touch at a time"
        if not experiment["host_populated"] and moved["htod"]:
            yield f"{moved['htod']} bytes moved to the GPU, of memory that nobody had written"
    if experiment["mode"] in ("stream_rd", "prefetch") and all_elsewhere and arrived < experiment["bytes"]:
        yield f"{arrived} bytes moved to the GPU of {experiment['bytes']}"
    if arrived > size * max(1, len(kernels)):
        yield f"{arrived} bytes moved to the GPU of {size}"
    if kernels and experiment.get("native_ns", 0) == 0:
        yield "native_ns was not measured"
    if kernels and experiment.get("native_ns", 0) > kernels[0][2] - kernels[0][1]:
        yield f"native_ns {experiment['native_ns']} exceeds the kernel with faults, {kernels[0][2] - kernels[0][1]}"


def failures_beyond(run):
    """Returns the failed checks of a program of --oversubscribe."""
    for number, step in enumerate(run["published"]):
        if step.get("lost_records"):
            continue
        for direction in ("in", "out"):
            if step["bytes_" + direction] % PAGE:
                yield f"step {number}: {step['bytes_' + direction]} bytes {direction}: no whole pages"
        if step["fault_bytes_in"] + step["prefetch_bytes_in"] > step["bytes_in"]:
            yield f"step {number}: more bytes by fault and prefetch than in all"
        if step["time_ns"] == 0:
            yield f"step {number}: no kernel"
    evicted = sum(step["evicted_bytes"] for step in run["published"])
    if run["name"].endswith("_fits") and evicted:
        yield f"{evicted} bytes were evicted from memory that fits"
    if run["name"].endswith("_beyond") and not evicted:
        yield "nothing was evicted"
    if run["program"] == "slice_scans" and "published_total" in run:
        if run["published_total"]["bytes_in"] < run["array_bytes"]:
            yield f"{run['published_total']['bytes_in']} bytes moved to the GPU of {run['array_bytes']}"


def main(path):
    modes, failed = {}, 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            experiment = json.loads(line)
            if "program" in experiment:
                steps = experiment["published"]
                row = modes.setdefault(experiment["program"], [0, 0, 0, 0, 0])
                row[0] += 1
                row[1] += sum(step["fault_batches"] for step in steps)
                row[2] += sum(step["copies_in"] + step["copies_out"] for step in steps)
                row[3] += sum(step["cpu_faults"] for step in steps)
                row[4] += sum(step["time_ns"] for step in steps)
                for failure in failures_beyond(experiment):
                    failed += 1
                    print(f"{experiment['name']}: {failure}")
                continue
            events = experiment["events"]
            row = modes.setdefault(experiment["mode"], [0, 0, 0, 0, 0])
            row[0] += 1
            row[1] += sum(event[0] == "gpu_fault" for event in events)
            row[2] += sum(event[0] in ("htod", "dtoh", "dtod") for event in events)
            row[3] += sum(event[0] == "cpu_fault" for event in events)
            row[4] += sum(event[2] - event[1] for event in events if event[0] == "kernel")
            for failure in failures(experiment):
                failed += 1
                print(f"{experiment['name']}: {failure}")
    print(f"{'mode':14} {'made':>5} {'batches':>8} {'copies':>8} {'cpu faults':>10} {'kernels us':>11}")
    for mode, row in sorted(modes.items()):
        print(f"{mode:14} {row[0]:5} {row[1]:8} {row[2]:8} {row[3]:10} {row[4] / 1000:11.1f}")
    print(f"{sum(row[0] for row in modes.values())} experiments, {failed} checks failed")
    return 1 if failed or not modes else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
