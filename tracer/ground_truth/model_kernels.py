#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures every kernel of a settled training step on managed memory: its time and what its fault batches hold.

    model_kernels.py BUILD OUTPUT.csv MODEL[,MODEL...] [--steps N] [--seconds S]

BUILD: a build of the tracer, with uvm_library_recorder, uvmtrace_timing and uvmtrace_faults. The models are those of
workloads/recipes/paper_models.py, which names its requirements. Each runs in a process of its own. Every tensor is one
managed allocation, freed when it dies; memory that lives from step to step stays on the GPU.

CUPTI tells when kernels run, and the driver's queue of raw faults what they raise; CUPTI's own counters of managed
memory are off, because they lose up to a fifth of the batches of such a step without a word. A row is a kernel of the
last step, in the order of their starts: its time, its fault batches and raw faults, and the medians of raw faults,
distinct pages and distinct SMs per batch. A batch belongs to every kernel that runs when the driver begins to service
it. The row `step` before them has the time of all kernels, and every batch of the step once, those of copies and fills
too. Being listened to slows kernels down. A model is left out if anything was lost; exit status 1 if one was.
"""
import argparse
import bisect
import csv
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import managed_training

sys.path.insert(0, os.path.join(managed_training.TOP, "tracer", "faults"))
import raw_faults  # noqa: E402

COLUMNS = ("us", "fault_batches", "raw_faults", "raw_faults_per_batch", "pages_per_batch", "sms_per_batch")


class Failed(Exception):
    """A model cannot be measured. The message is one line."""


def library(build, name):
    found = glob.glob(os.path.join(build, "**", f"lib{name}.so"), recursive=True)
    if len(found) != 1:
        sys.exit(f"model_kernels: {build} holds {len(found)} files lib{name}.so; it has to hold one")
    return os.path.abspath(found[0])


def train(build, name, steps):
    """Runs the model. Prints when each step begins and ends, and how far the driver's clock is behind CUPTI's."""
    import ctypes

    import torch

    faults = ctypes.CDLL(library(build, "uvmtrace_faults"))
    faults.InitializeInjection()
    allocator = managed_training.use_managed_memory(library(build, "uvm_library_recorder"))  # noqa: F841 (kept alive)
    run_step = managed_training.training_step(name)
    for step in range(steps):
        torch.cuda.synchronize()
        faults.uvmtrace_faults_section(str(step).encode())
        begin_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        behind_ns = begin_ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        run_step()
        torch.cuda.synchronize()
        print(begin_ns, time.clock_gettime_ns(time.CLOCK_REALTIME), behind_ns, flush=True)
    faults.uvmtrace_faults_section(b"end")


def kernels_of(path, begin_ns, end_ns):
    """Returns (start, end, name) of each kernel that starts within the step."""
    names, kernels = {}, []
    with open(path, encoding="utf-8") as log:
        for line in log:
            event = json.loads(line)
            if event["t"] == "launch":
                names[event["corr"]] = event["name"]
            elif event["t"] == "kernel" and begin_ns <= event["start_ns"] < end_ns:
                kernels.append((event["start_ns"], event["end_ns"], event["corr"]))
            elif event["t"] == "end" and event["dropped"]:
                raise Failed(f"CUPTI lost {event['dropped']} records")
    return [(start, end, names[correlation]) for start, end, correlation in sorted(kernels)]


def batches_of(path, step, behind_ns):
    """Returns (begin of service, raw faults, pages, SMs) of each batch of the step."""
    batches = {}
    for process in raw_faults.read(path):
        if process.problem or process.dropped:
            raise Failed(process.problem or f"the driver dropped {process.dropped} events")
        for section in process.sections:
            if section.name != step:
                continue
            faults = section.faults
            rows = zip(faults["gpu"], faults["batch"], faults["cpu_ns"], faults["address"], faults["gpc"],
                       faults["client"], faults["client_type"])
            for gpu, number, cpu_ns, address, gpc, client, kind in rows:
                if kind == raw_faults.CLIENT_HUB:
                    continue
                batch = batches.setdefault((gpu, number), [cpu_ns + behind_ns, 0, set(), set()])
                batch[0] = min(batch[0], cpu_ns + behind_ns)
                batch[1] += 1
                batch[2].add(address // raw_faults.PAGE)
                batch[3].add((gpc, client))
    return sorted((at, raw, len(pages), len(sms)) for at, raw, pages, sms in batches.values())


def measure(options, name):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, UVMTRACE_LOG_DIR=folder, UVMTRACE_MANAGED_COUNTERS="0",
                           CUDA_INJECTION64_PATH=library(options.build, "uvmtrace_timing"))
        command = [sys.executable, os.path.abspath(__file__), options.build, "", name, "--train"]
        command += ["--steps", str(options.steps)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if re.match(r"\w*(Error|Exception)\b", line)]
            raise Failed(errors[-1] if errors else f"the program ends with status {done.returncode}")
        begin_ns, end_ns, behind_ns = map(int, done.stdout.splitlines()[-1].split())
        logs = [glob.glob(os.path.join(folder, f"{kind}.*.*")) for kind in ("timing", "faults")]
        if any(len(log) != 1 for log in logs):
            raise Failed(f"{len(logs[0])} logs of kernels and {len(logs[1])} of faults: {done.stderr.strip()}")
        kernels = kernels_of(logs[0][0], begin_ns, end_ns)
        batches = batches_of(logs[1][0], str(options.steps - 1), behind_ns)
    begins = [batch[0] for batch in batches]
    rows, inside = [], set()
    for start, end, kernel in kernels:
        span = range(bisect.bisect_left(begins, start), bisect.bisect_right(begins, end))
        inside.update(span)
        held = [batches[i] for i in span]
        medians = [round(statistics.median(batch[k] for batch in held)) if held else 0 for k in (1, 2, 3)]
        rows.append((kernel, round((end - start) / 1e3, 2), len(held), sum(batch[1] for batch in held), *medians))
    raw = sum(batch[1] for batch in batches)
    print(f"{name}: {len(rows)} kernels, {len(batches)} fault batches ({len(inside)} in kernels), {raw} raw faults,"
          f" {sum(row[1] for row in rows) / 1e3:.0f} ms of kernels", flush=True)
    return (round(sum(row[1] for row in rows), 2), len(batches), raw), rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    managed_training.add_options(parser)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        return train(options.build, options.models, options.steps)
    left_out = []

    def leave_out(text):
        print(f"model_kernels: {text}", file=sys.stderr)
        left_out.append(text)

    with open(options.output + ".part", "w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(("model", "kernel", "name", *COLUMNS))
        for name in managed_training.models_in_time(options, leave_out):
            try:
                whole, rows = measure(options, name)
            except (Failed, raw_faults.LogError) as error:
                leave_out(f"{name} left out: {error}")
                continue
            table.writerow((name, "step", "", *whole, "", "", ""))
            table.writerows((name, index, *row) for index, row in enumerate(rows))
            out.flush()
    os.rename(options.output + ".part", options.output)
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
