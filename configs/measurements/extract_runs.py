#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Durations of the driver's own copies, from a file of recorded experiments (JSON lines, on standard input).

    zstd -dc EXPERIMENTS.jsonl.zst | ./extract_runs.py > runs_h200.txt

A run is one htod or dtoh event: one contiguous copy. It follows another when it starts where that one ended (within
the 32 ns grain of the clock); otherwise it is the first of its push. Prints the median duration by direction, kind
and size, for the sizes seen at least 8 times.
"""
import collections
import json
import statistics
import sys

CLOCK_GRAIN_NS = 32
FEWEST = 8

durations = collections.defaultdict(list)
for line in sys.stdin:
    for direction in ("htod", "dtoh"):
        previous_end = None
        for kind, start, end, _, size, _ in json.loads(line)["events"]:
            if kind != direction:
                continue
            follows = previous_end is not None and abs(start - previous_end) <= CLOCK_GRAIN_NS
            durations[direction, "next" if follows else "first", size].append(end - start)
            previous_end = end

print("direction run bytes count median_ns")
for (direction, run, size), values in sorted(durations.items()):
    if len(values) >= FEWEST:
        print(direction, run, size, len(values), round(statistics.median(values)))
