#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays the timed programs of `uvm_experiments --calls` and prints measured and simulated times of calls.

  replay_calls.py UVMSIM SYSTEM CALLS.jsonl.zst [--list] [--only TEXT]

All programs of one pass become one trace, in the order in which they were run. Every step is an iteration of its own
on a stream of its own, so that its marks wait only for the host. For a call and the wait after it, compares the time
inside the call, and both together. Measured times are the median of all passes.
"""
import argparse
import collections
import json
import statistics
import subprocess
import sys
import tempfile

PAGE, BLOCK = 4096, 2 << 20
STREAM = 1
TOLERANCE = 0.20
FLOOR_US = 10  # times below this are not compared in relative terms


def read(path):
    text = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True, text=True).stdout
    programs = collections.OrderedDict()
    for line in text.splitlines():
        run = json.loads(line)
        if "program" in run:
            programs.setdefault(run["program"], []).append(run)
    return programs


def medians(runs, key):
    return [statistics.median(run["steps"][i].get(key, 0) for run in runs) for i in range(len(runs[0]["steps"]))]


def kernel_key(step):
    return tuple(step.get(key) for key in ("act", "grid", "access_bytes", "bytes", "each", "count"))


def resident_times(programs):
    """Returns the least time of each kernel, which is a run without faults."""
    least = {}
    for runs in programs.values():
        for run in runs:
            for step in run["steps"]:
                if "gpu_us" in step:
                    key = kernel_key(step)
                    least[key] = min(least.get(key, 1e9), step["gpu_us"])
    return least


def stretches(step, total):
    if "each" not in step:
        return [(step.get("offset", 0), step["bytes"])]
    return [(at + step.get("offset", 0), step["bytes"]) for at in range(0, total, step["each"])
            if at + step.get("offset", 0) + step["bytes"] <= total]


def records(step, number, total, least):
    """Returns the records for a step; None if it has no counterpart in a trace."""
    act = step["act"]
    if act == "sync":
        return [{"t": "sync", "kind": "device"}]
    if act == "free":
        return [{"t": "object_free", "id": number}]
    if act == "busy":
        return [{"t": "kernel", "name": "busy", "stream": STREAM, "grid": [1], "block": [1], "duration_ns": step["ns"],
                 "accesses": []}]
    if act == "launch":
        return [{"t": "kernel", "name": "nothing", "stream": STREAM, "grid": [1], "block": [1], "duration_ns": 1000,
                 "accesses": []}] * step["count"]
    if act == "touch":
        touches = [[0, i * step["multiplier"] % step["count"], "w"] for i in range(step["count"])]
        return [{"t": "kernel", "name": "touch", "stream": STREAM, "grid": [1], "block": [1], "duration_ns": 2000,
                 "accesses": [[number, [[0, step["count"], "w"]]]], "touches": touches,
                 "distribution": "thread_chunk"}]
    parts = stretches(step, total)
    if act in ("host_write", "host_read"):
        mode = "w" if act == "host_write" else "r"
        return [{"t": "host_access", "object": number,
                 "extents": [[offset // PAGE, size // PAGE, mode] for offset, size in parts]}]
    if act in ("write", "read"):
        mode = "w" if act == "write" else "r"
        duration = max(1000, int(least[kernel_key(step)] * 1000) - 2000)
        return [{"t": "kernel", "name": act, "stream": STREAM, "grid": [step["grid"]], "block": [step["threads"]],
                 "duration_ns": duration, "distribution": "grid_stride", "bytes_per_thread_access": step["access_bytes"],
                 "accesses": [[number, [[offset // PAGE, size // PAGE, mode] for offset, size in parts]]]}]
    device = 0 if step.get("target", "gpu") == "gpu" else -1
    if act == "prefetch":
        return [{"t": "prefetch", "object": number, "offset": offset, "bytes": size, "destination": device,
                 "stream": STREAM + step.get("stream", 0)} for offset, size in parts]
    if act == "advise":
        return [{"t": "advise", "object": number, "offset": offset, "bytes": size, "advice": step["how"],
                 "device": device} for offset, size in parts]
    asynchronous = act.endswith("_async")
    if act.startswith("memset"):
        return [{"t": "memset", "object": number, "offset": 0, "bytes": step["bytes"], "stream": STREAM,
                 **({} if asynchronous else {"blocking": True})}]
    source, target = step["how"].split(">")
    size = step["bytes"]
    copy = {"t": "memcpy", "bytes": size, "kind": "default", "stream": STREAM, "blocking": not asynchronous}
    if source == target:
        copy.update(bytes=size // 2, src=[number, 0], dst=[number, size // 2], kind="device_to_device")
    elif target == "managed":
        copy.update(dst=[number, 0], kind="device_to_device" if source == "device" else "host_to_device")
    else:
        copy.update(src=[number, 0], kind="device_to_device" if target == "device" else "device_to_host")
    if "pageable" in step["how"]:
        copy["blocking"] = True
    return [copy]


def make_trace(programs, least, out):
    put = lambda record: print(json.dumps(record), file=out)
    put({"t": "header", "major": 1, "quantum_bytes": PAGE})
    places, iteration = {}, 0
    for number, (name, runs) in enumerate(programs.items(), 1):
        run = runs[0]
        put({"t": "object_alloc", "id": number, "bytes": max(run["bytes"], BLOCK)})
        places[name] = iteration
        for step in run["steps"]:
            put({"t": "range", "kind": "iteration_begin", "index": iteration})
            for record in records(step, number, run["bytes"], least):
                put(record)
            put({"t": "range", "kind": "iteration_end", "index": iteration})
            iteration += 1
        put({"t": "sync", "kind": "device"})
        if run["steps"][-1]["act"] != "free":
            put({"t": "object_free", "id": number})
    return places


def replay(uvmsim, system, programs):
    least = resident_times(programs)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as out:
        places = make_trace(programs, least, out)
        out.flush()
        done = subprocess.run([uvmsim, "run", out.name, "--system", system, "--replay-all", "--json", "-"],
                              capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    result = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")][-1]
    times = [(i["end_ns"] - i["begin_ns"]) / 1000 for i in result["iterations"]]
    return {name: times[at:at + len(programs[name][0]["steps"])] for name, at in places.items()}


def near(here, there):
    return abs(here - there) <= max(TOLERANCE * there, FLOOR_US)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("uvmsim")
    parser.add_argument("system")
    parser.add_argument("calls")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true", help="every program, step by step")
    options = parser.parse_args()
    programs = collections.OrderedDict((k, v) for k, v in read(options.calls).items() if options.only in k)
    found = replay(options.uvmsim, options.system, programs)
    groups = collections.OrderedDict()
    for name, runs in programs.items():
        there, here = medians(runs, "us"), found[name]
        steps = runs[0]["steps"]
        kind = name.split("/")[0]
        gpu = medians(runs, "gpu_us")
        pairs = []  # name, measured, simulated
        for i, step in enumerate(steps):
            if step["act"] in ("write", "read", "touch"):
                pairs.append(("kernel", gpu[i], max(0.0, here[i] + here[i + 1] - 8)))
            elif step["act"] in ("host_write", "host_read"):
                pairs.append(("host", there[i], here[i]))
        if kind.split("_")[0] in ("prefetch", "row", "memset", "memcpy", "advise", "launch", "free"):
            last = len(steps) - (1 if steps[-1]["act"] == "free" else 2)
            pairs.append(("call", there[last], here[last]))
            if last + 1 < len(steps):
                pairs.append(("done", there[last] + there[last + 1], here[last] + here[last + 1]))
        for what, measured, simulated in pairs:
            if what == "host" and kind.split("_")[0] not in ("fill", "touch", "part"):
                continue
            groups.setdefault((kind, what), []).append((measured, simulated))
        if options.list:
            print(f"{name:58s}", *[f"{what} {measured:.0f}/{simulated:.0f}" for what, measured, simulated in pairs])
    print(f"{'what':44s} {'':7s}{'pairs':>6s}{'near':>7s}  here / there: p10, median, p90")
    for (kind, what), pairs in groups.items():
        ratios = sorted(here / max(there, 0.1) for there, here in pairs)
        close = sum(near(here, there) for there, here in pairs)
        at = lambda share: ratios[min(len(ratios) - 1, int(share * len(ratios)))]
        print(f"{kind:44s} {what:7s}{len(pairs):6d}{100 * close / len(pairs):6.0f}%  "
              f"{at(0.1):6.2f} {at(0.5):6.2f} {at(0.9):6.2f}")
    for what in ("call", "done", "kernel", "host"):
        pairs = [pair for (_, w), list_ in groups.items() if w == what for pair in list_]
        if pairs:
            close = sum(near(here, there) for there, here in pairs)
            print(f"all: {what}: {len(pairs)} pairs, {100 * close / len(pairs):.0f} % within {100 * TOLERANCE:.0f} % or "
                  f"{FLOOR_US} us")


main()
