#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a trace with the accesses that known_maps expects of its kernels: exactly, and separately for reads and
writes.

usage: check_maps.py EXPECTED.jsonl TRACE.jsonl

Both runs of a recording write EXPECTED.jsonl, so that it has the addresses of the second run, while the trace has
those of the first. Allocations of the two runs are matched by their number. Prints a table and PASS or FAIL; the
exit status is 0 only for PASS.
"""
import json
import sys

from check_answers import events, size, union, units, without

QUANTUM = 512
MODES = {"r": 1, "w": 2, "rw": 3}


def moved_runs(runs, allocations, places):
    """Moves runs of absolute quanta from `allocations` [[va, bytes], ...] to the addresses `places` [va, ...] of the
    allocations with the same numbers."""
    out = []
    for first, count, mode in runs:
        for (va, size_bytes), place in zip(allocations, places):
            begin, end = va // QUANTUM, (va + size_bytes + QUANTUM - 1) // QUANTUM
            low, high = max(first, begin), min(first + count, end)
            if low < high:
                out.append([place // QUANTUM + low - begin, high - low, mode])
    return out


def launches(path):
    """Returns the objects of a trace [[va, bytes], ...] and its kernels with absolute quanta."""
    places, objects, out = {}, [], []
    for record in events(path):
        if record["t"] == "object_alloc":
            places[record["id"]] = record.get("va", 0)
            objects.append([record.get("va", 0), record["bytes"]])
        elif record["t"] == "kernel":
            runs = []
            for thing, extents in record["accesses"]:
                va = places.get(thing, 0)
                if va != 0:  # otherwise the memory was seen by the access pass only
                    runs += [[va // QUANTUM + first, count, MODES[mode]] for first, count, mode in extents]
            out.append((record, runs))
    return objects, out


def places_of(allocations, objects):
    """Returns the addresses of the allocations in the trace: objects of the same sizes in the same order."""
    places, rest = [], iter(objects)
    for _, size_bytes in allocations:
        place = next((va for va, size_found in rest if size_found == size_bytes), None)
        if place is None:
            sys.exit(f"the trace has no object for allocation {len(places)} of {size_bytes} bytes")
        places.append(place)
    return places


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wanted, live = [], []
    objects, kernels = launches(sys.argv[2])
    expected = list(events(sys.argv[1]))
    allocations = [[event["va"], event["bytes"]] for event in expected if event["t"] == "alloc"]
    places = places_of(allocations, objects)
    # Addresses are reused after a free: of allocations at one address the last one before the launch counts.
    for event in expected:
        if event["t"] == "alloc":
            begin, end = event["va"], event["va"] + event["bytes"]
            live = [None if other is not None and other[0] < end and begin < other[0] + other[1] else other
                    for other in live] + [[begin, event["bytes"]]]
        elif event["t"] == "launch":
            current = [(one, place) for one, place in zip(live, places) if one is not None]
            runs = moved_runs(event["accesses"], [one for one, _ in current], [place for _, place in current])
            wanted.append({**event, "accesses": runs})
    names = {want["name"] for want in wanted}
    recorded = [item for item in kernels if item[0]["name"] in names]
    print(f"{'kernel':<14} {'blocks':>6} {'read':>7} {'missing':>8} {'extra':>6} {'written':>8} {'missing':>8} {'extra':>6}"
          "  coverage")
    wrong = abs(len(wanted) - len(recorded))
    if wrong:
        print(f"{len(recorded)} launches recorded, not {len(wanted)}")
    for want, (kernel, runs) in zip(wanted, recorded):
        columns, same = [], want["name"] == kernel["name"] and want["grid"] == kernel["grid"]
        for mode in (1, 2):
            right, found = units(union([want["accesses"]]), mode), units(union([runs]), mode)
            missing, extra = without(right, found), without(found, right)
            columns += [size(right), missing, extra]
            same = same and missing == 0 and extra == 0
        same = same and kernel.get("coverage") == "tensor_maps"
        print(f"{want['name']:<14} {want['grid'][0]:>6} {columns[0]:>7} {columns[1]:>8} {columns[2]:>6} {columns[3]:>8}"
              f" {columns[4]:>8} {columns[5]:>6}  {kernel.get('coverage', 'instrumented')}{'' if same else '  WRONG'}")
        wrong += not same
    print(f"{len(recorded)} launches, {wrong} wrong")
    print("PASS" if wrong == 0 and recorded else "FAIL")
    return wrong != 0 or not recorded


if __name__ == "__main__":
    sys.exit(main())
