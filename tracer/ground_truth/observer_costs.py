#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Determines the cost of each record that a listener of the UVM driver receives.

    observer_costs.py OBSERVER.jsonl...

OBSERVER.jsonl is the output of `uvm_experiments --observer`. For each kind of experiment, prints how much longer
kernels take under each listener, in the median, and the costs per raw fault, replay and migration that explain the
difference best (least relative squares; none below 0).
"""
import json
import statistics
import sys

LISTENERS = ("cupti", "queue_faults", "queue")
COUNTS = ("raw_faults", "replays", "migrations")


def median_of(line, who, key):
    return statistics.median(run[key] for run in line[who])


def kind_of(line):
    moved = median_of(line, "queue", "migrations") > 0
    return "data on the host" if moved else "new memory"


def read(paths):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines += [json.loads(text) for text in file]
    whole = [line for line in lines if not any(run["dropped"] for who in LISTENERS for run in line[who])]
    return [line for line in whole if median_of(line, "nobody", "kernel_ns") > 0], len(lines) - len(whole)


def solve(rows, values):
    """Returns the least-squares solution of rows x costs = values, with no cost below 0."""
    active = list(range(len(rows[0])))
    while active:
        n = len(active)
        matrix = [[sum(row[i] * row[j] for row in rows) for j in active] +
                  [sum(row[i] * value for row, value in zip(rows, values))] for i in active]
        for i in range(n):
            pivot = max(range(i, n), key=lambda k: abs(matrix[k][i]))
            matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
            if matrix[i][i] == 0:
                return None
            for k in range(n):
                if k != i:
                    factor = matrix[k][i] / matrix[i][i]
                    matrix[k] = [a - factor * b for a, b in zip(matrix[k], matrix[i])]
        costs = [matrix[i][n] / matrix[i][i] for i in range(n)]
        if min(costs) >= 0:
            return [costs[active.index(i)] if i in active else 0.0 for i in range(len(rows[0]))]
        del active[costs.index(min(costs))]
    return [0.0] * len(rows[0])


def costs_of(lines, who):
    """Returns the nanoseconds per raw fault, replay and migration. The driver's queue counts faults and replays."""
    rows, values = [], []
    for line in lines:
        alone = median_of(line, "nobody", "kernel_ns")
        counts = [median_of(line, "queue", key) for key in COUNTS]
        rows.append([count / alone for count in counts])
        values.append((median_of(line, who, "kernel_ns") - alone) / alone)
    return solve(rows, values)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    lines, dropped = read(sys.argv[1:])
    if not lines:
        print("observer_costs: no experiment with a kernel and without dropped records", file=sys.stderr)
        return 2
    print(f"{len(lines)} experiments" + (f", {dropped} left out: records were dropped" if dropped else ""))
    print("| experiments | n | " + " | ".join(LISTENERS) + " |\n|---|---|---|---|---|")
    for kind in sorted({kind_of(line) for line in lines}):
        some = [line for line in lines if kind_of(line) == kind]
        cells = []
        for who in LISTENERS:
            ratios = [median_of(line, who, "kernel_ns") / median_of(line, "nobody", "kernel_ns") for line in some]
            cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        print(f"| {kind} | {len(some)} | " + " | ".join(cells) + " |")
    print("\n| listener | ns per raw fault | per replay | per migration |\n|---|---|---|---|")
    for who in LISTENERS:
        costs = costs_of(lines, who)
        print(f"| {who} | " + (" | ".join(f"{cost:.0f}" for cost in costs) if costs else "not separable | |") + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
