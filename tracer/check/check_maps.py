#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a trace with what known_maps said its kernels touch: exactly, reads and writes apart.

usage: check_maps.py EXPECTED.jsonl TRACE.jsonl

Both of the same run: the expected addresses are those of the timing pass. Prints a table and PASS or FAIL; the exit
status is 0 only for PASS.
"""
import json
import sys

from check_answers import events, size, union, units, without

QUANTUM = 512
MODES = {"r": 1, "w": 2, "rw": 3}


def launches(path):
    """The kernels of a trace with absolute quanta, and the objects' places."""
    places, out = {}, []
    for record in events(path):
        if record["t"] == "object_alloc":
            places[record["id"]] = record.get("va", 0)
        elif record["t"] == "kernel":
            runs = []
            for thing, extents in record["accesses"]:
                va = places.get(thing, 0)
                if va != 0:  # else memory that only the access pass saw
                    runs += [[va // QUANTUM + first, count, MODES[mode]] for first, count, mode in extents]
            out.append((record, runs))
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wanted = [event for event in events(sys.argv[1]) if event["t"] == "launch"]
    names = {want["name"] for want in wanted}
    recorded = [item for item in launches(sys.argv[2]) if item[0]["name"] in names]
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
