#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares raw faults recorded one by one (page, SM and batch of every fetched raw fault) with the simulator's batches.

  compare_faults.py UVMSIM DATA [--half tune|score] [--set KEY=VALUE ...] [-v]

DATA: the folder with h200_part1.npz, h200_part2.npz and h200_part5.npz. For batches, raw faults, raw faults per
batch, pages per batch and SMs per batch, prints the median of the absolute errors and, in brackets, the median
error.
"""
import argparse
import concurrent.futures
import gzip
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    sys.exit("compare_faults.py: this Python has no numpy; the distribution's python3-numpy is for /usr/bin/python3")

LABELS = ("batches", "raw", "raw/batch", "pages", "SMs")


def half_of(name):
    return "tune" if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else "score"


def shape_of(name, head):
    """Returns the bytes per access, and the use of each buffer; None: not comparable."""
    name = name.replace("timed_", "")
    buffers = head["buffers"]
    scalar = 4
    if m := re.match(r"(rd|wr)([14])_g", name):
        return dict(distribution="grid_stride", width=scalar * int(m[2]), modes=["r" if m[1] == "rd" else "w"])
    if name.startswith("vadd4"):
        return dict(distribution="grid_stride", width=16, modes=["r", "r", "w"])
    if name.startswith("cp4_"):
        return dict(distribution="grid_stride", width=16, modes=["r", "w"])
    if name.startswith("elem_cp4"):
        return dict(distribution=None, width=16, modes=["r", "w"])
    if m := re.match(r"elem_(rd|wr)", name):
        return dict(distribution=None, width=16, modes=["r" if m[1] == "rd" else "w"])
    if name.startswith("row_sum"):
        return dict(distribution=None, width=4, modes=["r", "w"])
    if name.startswith("random_pages") and len(buffers) == 1:
        return dict(distribution="thread_chunk", width=4, modes=["w"])
    return None


def shuffled(count, seed):
    """Returns the permutation that the program touched: libstdc++'s shuffle with mt19937(7)."""
    return None


def trace_of(name, head, shape, pages_in_order):
    lines = [dict(t="header", major=1, minor=7, quantum_bytes=4096, tool="compare_faults")]
    total = 0
    for i, (address, size, _) in enumerate(head["buffers"]):
        lines.append(dict(t="object_alloc", id=i + 1, bytes=size, va=address))
        total += size
    for i, (_, size, where) in enumerate(head["buffers"]):
        if where == 1:
            lines.append(dict(t="host_access", object=i + 1, extents=[[0, size // 4096, "w"]]))
        elif where == 2:
            lines.append(dict(t="prefetch", object=i + 1, offset=0, bytes=size, destination=0))
    lines.append(dict(t="sync", kind="device"))
    rate = min(3500.0, 60.0 * head["grid"])  # bytes per ns
    kernel = dict(t="kernel", name=name, grid=[head["grid"], 1, 1], block=[head["block"], 1, 1],
                  duration_ns=int(2000 + total / rate))
    if shape["distribution"]:
        kernel["distribution"] = shape["distribution"]
    if shape["distribution"] != "thread_chunk":
        kernel["bytes_per_thread_access"] = shape["width"]
    kernel["accesses"] = [[i + 1, [[0, head["buffers"][i][1] // 4096, mode]]] for i, mode in enumerate(shape["modes"])]
    if pages_in_order is not None:
        kernel["touches"] = [[0, int(page), "w"] for page in pages_in_order]
    lines += [kernel, dict(t="sync", kind="device")]
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in lines) + "\n"


def measured_of(faults):
    out = []
    pages = faults["addr"] >> 12
    sms = faults["gpc"].astype(int) * 1000 + faults["client"]
    for batch in sorted(set(faults["batch"].tolist())):
        of = faults["batch"] == batch
        out.append((int(of.sum()), len(set(pages[of].tolist())), len(set(sms[of].tolist()))))
    return out


def simulated_of(uvmsim, system, settings, folder, name, text):
    trace = os.path.join(folder, name + ".jsonl")
    timeline = os.path.join(folder, name + ".json")
    with open(trace, "w") as out:
        out.write(text)
    command = [uvmsim, "run", trace, "--system", system, "--timeline", timeline]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr}")
    with open(timeline) as data:
        events = json.load(data)
    events = events["traceEvents"] if isinstance(events, dict) else events
    return [(e["args"]["raw_faults"], e["args"]["pages"], e["args"]["sms"]) for e in events
            if e.get("cat") == "fault batch"]


def summary(batches):
    if not batches:
        return [0.1] * 5
    raw = sum(b[0] for b in batches)
    n = len(batches)
    return [n, raw, raw / n, sum(b[1] for b in batches) / n, sum(b[2] for b in batches) / n]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("uvmsim")
    parser.add_argument("data")
    parser.add_argument("--system", default="h200-sxm-pcie5")
    parser.add_argument("--half", default="tune")
    parser.add_argument("--match", default="")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--dump", action="store_true")
    options = parser.parse_args()
    work = []
    for part in (1, 2, 5):
        data = numpy.load(os.path.join(options.data, f"{options.gpu}_part{part}.npz"), allow_pickle=True)
        for i, head in enumerate(json.loads(str(data["heads"]))):
            shape = shape_of(head["name"], head)
            if shape is None or (options.half != "all" and half_of(head["name"]) != options.half):
                continue
            if not re.search(options.match, head["name"]):
                continue
            order = None
            if head["name"].startswith("random_pages"):
                order = numpy.random.RandomState(7).permutation(head["buffers"][0][1] // 4096)
            work.append((head["name"], trace_of(head["name"], head, shape, order), measured_of(data[f"f{i}"])))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        simulated = list(pool.map(
            lambda w: simulated_of(options.uvmsim, options.system, options.set, folder, w[0], w[1]), work))
    errors = [[] for _ in LABELS]
    for (name, _, measured), batches in zip(work, simulated):
        there, here = summary(measured), summary(batches)
        for k in range(5):
            errors[k].append(here[k] / there[k] - 1)
        if options.v:
            print("%-28s batches %4d/%4d  raw %6d/%6d  raw/b %4.0f/%4.0f  pages %5.1f/%5.1f  SMs %5.1f/%5.1f" % (
                name, here[0], there[0], here[1], there[1], here[2], there[2], here[3], there[3], here[4], there[4]))
        if options.dump:
            print("   there", measured[:24])
            print("   here ", batches[:24])
    print(len(work), "experiments:", " ".join(
        "%s %.0f (%+.0f)" % (label, 100 * statistics.median(map(abs, e)), 100 * statistics.median(e))
        for label, e in zip(LABELS, errors)))


if __name__ == "__main__":
    main()
