#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares an access log with the accesses that known_answers expects of its kernels: exactly, and separately for reads
and writes.

usage: check_answers.py EXPECTED.jsonl ACCESS_LOG.jsonl

Prints a table and PASS or FAIL; the exit status is 0 only for PASS.
"""
import json
import sys

QUANTUM = 512
READ, WRITE = 1, 2


def events(path):
    """Returns the lines of a log, up to one that was cut off."""
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            try:
                yield json.loads(line)
            except ValueError:
                return


def units(runs, mode):
    """Returns the units that the runs touch in this mode (a bit), as ascending disjoint intervals."""
    out = []
    for first, count, modes in sorted(runs):
        if not modes & mode:
            continue
        if out and out[-1][1] == first:
            out[-1][1] = first + count
        else:
            out.append([first, first + count])
    return out


def union(run_lists):
    """Returns the union of the lists of runs; modes of overlapping runs are combined."""
    joined = []
    for mode in (READ, WRITE):
        spans = sorted(span for runs in run_lists for span in units(runs, mode))
        merged = []
        for begin, end in spans:
            if merged and begin <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        joined += [[begin, end - begin, mode] for begin, end in merged]
    return joined


def size(intervals):
    return sum(end - begin for begin, end in intervals)


def without(a, b):
    """Returns how many units of `a` are not in `b`."""
    common, i, j = 0, 0, 0
    while i < len(a) and j < len(b):
        common += max(0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return size(a) - common


def expected_phases(launch, slices):
    """Returns (first block, blocks, runs of pages) of each slice: slice k has the blocks with block * slices / blocks
    == k."""
    blocks = launch["grid"][0] * launch["grid"][1] * launch["grid"][2]
    slices = min(slices, blocks)
    parts = [[] for _ in range(slices)]
    for block, runs in launch["blocks"]:
        parts[block * slices // blocks].append(runs)
    first = [-(-k * blocks // slices) for k in range(slices + 1)]
    return [(first[k], first[k + 1] - first[k], union(parts[k])) for k in range(slices)]


def check_phases(want, got, header, threshold):
    touched = size(units(union([want["accesses"]]), READ | WRITE))
    slices = header.get("phases", 0)
    if slices == 0 or touched * QUANTUM <= threshold:
        return "" if "phases" not in got else "phases were not wanted"
    expected, recorded = expected_phases(want, slices), got.get("phases", [])
    if len(expected) != len(recorded):
        return f"{len(recorded)} phases, not {len(expected)}"
    for k, ((first, count, runs), (got_first, got_count, got_runs)) in enumerate(zip(expected, recorded)):
        if (first, count) != (got_first, got_count):
            return f"phase {k} is blocks {got_first}+{got_count}, not {first}+{count}"
        for mode in (READ, WRITE):
            if units(runs, mode) != units(got_runs, mode):
                return f"phase {k} has other pages"
    return ""


def check_extras(want, got):
    """Checks first-touch order and counters, if they were recorded."""
    pages = {page for first, count, _ in want["accesses"]
             for page in range(first * QUANTUM >> 16, ((first + count) * QUANTUM - 1 >> 16) + 1)}
    if "order" in got and (len(got["order"]) != len(pages) or set(got["order"]) != pages):
        return "the order has other pages"
    if "counts" in got:
        if {page for page, _ in got["counts"]} != pages:
            return "counts of other pages"
        total = sum(count for _, count in got["counts"])
        if total != want.get("counted", total):
            return f"{total} counted, not {want['counted']}"
    return ""


def same_launch(want, got):
    return all(want[key] == got[key] for key in ("name", "grid", "block")) and want["graph"] == ("node" in got)


def check_launches(wanted, recorded, header, threshold):
    """Pairs the launches in order and prints a line for each. Returns how many are wrong."""
    print(f"{'number':<6} {'kernel':<16} {'read':>9} {'missing':>8} {'extra':>6} {'written':>9} {'missing':>8} {'extra':>6}"
          f" {'unknown':>8}  result")
    wrong, place = 0, 0
    for number, want in enumerate(wanted):
        while place < len(recorded) and not same_launch(want, recorded[place]):
            place += 1
        if place == len(recorded):
            print(f"{number:<6} {want['name']:<16} is not in the log")
            return wrong + len(wanted) - number
        got = recorded[place]
        place += 1
        columns, problems = [], []
        for mode in (READ, WRITE):
            right, found = units(want["accesses"], mode), units(got.get("accesses", []), mode)
            missing, extra = without(right, found), without(found, right)
            columns += [size(right), missing, extra]
            if missing or extra:
                problems.append("reads" if mode == READ else "writes")
        if not got.get("patched", False):
            problems.append("not patched")
        if got.get("unknown", 0) != want["unknown"]:
            problems.append("unknown at " + ", ".join(hex(a) for a in got.get("unknown_at", [])[:3]))
        problems += [text for text in (check_phases(want, got, header, threshold), check_extras(want, got)) if text]
        result = "ok" + (f", {len(got['phases'])} phases" if "phases" in got else "")
        print(f"{number:<6} {want['name']:<16} {columns[0]:>9} {columns[1]:>8} {columns[2]:>6} {columns[3]:>9}"
              f" {columns[4]:>8} {columns[5]:>6} {got.get('unknown', 0):>8}  {'WRONG: ' + '; '.join(problems) if problems else result}")
        wrong += bool(problems)
    names = {want["name"] for want in wanted}
    others = [got["name"] for got in recorded if got["name"] not in names]
    if others:
        print(f"{len(others)} other launches: {', '.join(sorted(set(others)))[:200]}")
    return wrong


def check_others(wanted, log):
    """Checks allocations, copies and sets: each must be in the log with exactly these fields, in this order."""
    wrong = 0
    for kind in ("alloc", "memcpy", "memset"):
        recorded = iter([event for event in log if event["t"] == kind])
        found = 0
        for want in (event for event in wanted if event["t"] == kind):
            fields = {key: value for key, value in want.items() if key not in ("t", "name")}
            for got in recorded:
                if all(got.get(key) == value for key, value in fields.items()):
                    found += 1
                    break
            else:
                print(f"{kind} is not in the log: {fields}")
                wrong += 1
                break
        print(f"{kind}: {found} found")
    return wrong


def check_frees(log):
    live, wrong = {}, 0
    for event in log:
        if event["t"] == "alloc":
            live[event["va"]] = event["kind"]
        elif event["t"] == "free":
            if live.pop(event["va"], None) != event["kind"]:
                print(f"free of something that was not allocated so: {event}")
                wrong += 1
    return wrong


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wanted = list(events(sys.argv[1]))
    log = list(events(sys.argv[2]))
    header = next((event for event in log if event["t"] == "header"), {})
    if not log or log[0].get("t") != "header" or log[-1].get("t") != "end":
        print("the log does not begin with a header and end with an end")
    print(f"{header.get('gpu', 'unknown GPU')}, driver {header.get('driver', '?')}, CUDA {header.get('cuda', '?')},"
          f" phases {header.get('phases')}")
    log.sort(key=lambda event: event.get("seq", 0))
    launches = [event for event in log if event["t"] == "launch"]
    threshold = 32 << 20
    wrong = check_launches([w for w in wanted if w["t"] == "launch"], launches, header, threshold)
    wrong += check_others(wanted, log) + check_frees(log)
    for event in log:
        if event["t"] == "note":
            print("note:", event["text"])
    print(f"{len(launches)} launches in the log, {wrong} wrong")
    print("PASS" if wrong == 0 else "FAIL")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
