#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the contents of measured fault batches and the parts of their time, from the events alone: nothing is
simulated.

    batch_contents.py [--only REGEX]

It uses experiments whose memory is first on the host, because the copies then show the pages: library calls that may
be looked at (dev() in tracer/ground_truth/call_classes.py), loops, and one thread that touches page after page.
First batches are left out, and so are batches that wait more than 120 us for their first copy (a late start of the
driver).

lead: from the batch's first fault, or from the end of the previous batch if that is later, to the first copy. tail:
from the end of the last copy to the batch's end. raw: faults of the lowest page times pages. pages by first fault:
relative to the median of the same experiment. Exit status 2 if a file is missing.
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

PAGE, STRETCH, BLOCK = 4096, 65536, 2 << 20
LATE_NS = 120000
AWAKE_NS = 2000  # a fault within this time after the previous batch finds the driver's thread awake


def batches_of(experiment):
    """Yields all batches but the first, each with its copies."""
    library = "tensors" in experiment
    events = [event for event in experiment["events"] if isinstance(event, list)]
    place = (lambda e: (e[3], experiment["tensors"][e[3]]["va_offset_in_2m"] + e[4])) if library else (
        lambda e: (0, experiment["va_offset_in_2m"] + e[3]))
    copies = sorted((e[1], e[2], *place(e), e[-2], e[-1]) for e in events if e[0] == "htod" and (not library or e[3] >= 0))
    faults = sorted((e[2], e[1], e[-2]) for e in events if e[0] == "gpu_fault")
    found, next_copy, before = [], 0, None
    for end, first, lowest in faults:
        mine = []
        while next_copy < len(copies) and copies[next_copy][0] < end:
            mine.append(copies[next_copy])
            next_copy += 1
        if before is not None:
            found.append(contents(before, first, end, lowest, mine))
        before = end
    return found


def contents(before, first, end, lowest, copies):
    batch = {"stale": not copies, "left": first < before - AWAKE_NS, "awake": first - before < AWAKE_NS, "ns": end - before,
             "gap": first - before}
    if not copies:
        return batch
    demanded = [(tensor, page) for _, _, tensor, offset, size, flags in copies if flags == 2
                for page in range(offset // PAGE, (offset + size) // PAGE)]
    runs = 1 + sum(a[2] != b[2] or a[3] + a[4] != b[3] for a, b in zip(copies, copies[1:]))
    batch.update(lead=copies[0][0] - max(before, first), tail=end - copies[-1][1], pages=len(demanded), copies=len(copies),
                 stretches=len({(tensor, page * PAGE // STRETCH) for tensor, page in demanded}),
                 blocks=len({(copy[2], copy[3] // BLOCK) for copy in copies}), runs=runs,
                 moved=sum(copy[4] for copy in copies) // PAGE, raw=lowest * len(demanded))
    return batch


def kinds(only):
    def lines(name):
        text = subprocess.run(["zstd", "-dcq", os.path.join(FOLDER, "data", f"{name}.jsonl.zst")], capture_output=True,
                              text=True, check=True).stdout
        return [e for e in map(json.loads, text.splitlines()) if re.search(only, e["name"])]

    calls = [e for e in lines("library_classes_h200") if call_classes.dev(e["name"])]
    yield "calls, outputs on host", [e for e in calls if e["outputs_on"] == "host"]
    yield "calls, inputs on host", [e for e in calls if e["inputs_on"] == "host"]
    loops = [e for e in lines("loops_h200") if e["host_populated"]]
    yield "loops that write", [e for e in loops if e["mode"] == "stream_wr"]
    yield "loops that read", [e for e in loops if e["mode"] == "stream_rd"]
    yield "one thread", [e for e in lines("uvm_h200_dev") if e["mode"] == "ordered" and e["host_populated"]]


def print_by_gap(groups):
    """Prints the number of pages per batch by the time of its first fault after the end of the previous batch."""
    by_gap = {}
    for batches in groups:
        fresh = [b for b in batches if not b["stale"] and b["gap"] >= 0]
        if len(fresh) < 8:
            continue
        usual = statistics.median(b["pages"] for b in fresh)
        for batch in fresh:
            by_gap.setdefault(min(batch["gap"] // 600, 4), []).append(batch["pages"] / usual)
    parts = [f"{600 * k} ns on {statistics.median(v):.2f} ({len(v)})" for k, v in sorted(by_gap.items()) if len(v) >= 10]
    if parts:
        print("  pages by first fault: " + ", ".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="names that match")
    given = parser.parse_args()
    for kind, experiments in kinds(given.only):
        groups = [batches_of(experiment) for experiment in experiments]
        batches = [batch for group in groups for batch in group]
        copied = [b for b in batches if not b["stale"] and b["lead"] < LATE_NS]
        if not copied:
            continue
        stale = [b for b in batches if b["stale"]]
        print(f"{kind}: {len(batches)} batches; only stale faults or first touches {100 * len(stale) / len(batches):.0f} %, "
              f"{100 * sum(b['ns'] for b in stale) / sum(b['ns'] for b in batches):.0f} % of the time; with faults from "
              f"before the last replay {100 * sum(b['left'] for b in batches) / len(batches):.0f} %")
        columns = ("pages", "stretches", "blocks", "copies", "moved", "raw", "lead", "tail")
        print("  median " + ", ".join(f"{c} {statistics.median(b[c] for b in copied):.0f}" for c in columns))
        print_by_gap(groups)
        for least, most in ((1, 20), (20, 60), (60, 100), (100, 160), (160, 220), (220, 300)):
            alike = [b for b in copied if b["awake"] and b["blocks"] == 1 and b["runs"] <= 2 and least <= b["moved"] < most]
            if len(alike) >= 10:
                print(f"  thread awake, one block, {least:3} to {most - 1:3} pages moved: {len(alike):4} batches, lead "
                      f"{statistics.median(b['lead'] for b in alike) / 1e3:5.1f} us")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"batch_contents: error: {error}", file=sys.stderr)
        sys.exit(2)
