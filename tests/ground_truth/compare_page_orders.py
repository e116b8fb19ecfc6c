#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two recordings of the same experiments: how far their orders of raw faults agree, as `uvmsim validate` compares orders.

    tracer/ground_truth/raw_lines.py tests/ground_truth/data/raw_faults_h200.faults.zst > h200.jsonl
    tracer/ground_truth/raw_lines.py tests/ground_truth/data/raw_faults_h100.faults.zst > h100.jsonl
    tests/ground_truth/compare_page_orders.py h200.jsonl h100.jsonl

Prints for each experiment of both files the pages that both raised, the correlation of their ranks, and that within the
batches of the first file (sim/validate/page_order.h); then the medians. No model can be expected to agree better with one
recording than another recording does.
"""
import json
import statistics
import sys

LEAST_PAGES = 8  # as in sim/validate/page_order.h


def correlation(values):
    """Spearman's, of 0, 1, 2, ... with different values."""
    by_value = sorted(range(len(values)), key=lambda i: values[i])
    squares = sum((place - rank) ** 2 for rank, place in enumerate(by_value))
    n = len(values)
    return 1 - 6 * squares / (n * (n * n - 1))


def compared(one, other):
    """Pages raised on both sides, the correlation of all, the median within batches of `one`; nothing: too few."""
    position = {page: i for i, page in enumerate(page for batch in other for page in batch)}
    batches = [[position[page] for page in batch if page in position] for batch in one]
    together = [place for batch in batches for place in batch]
    if len(together) < LEAST_PAGES:
        return None
    within = [correlation(batch) for batch in batches if len(batch) >= LEAST_PAGES]
    return len(together), correlation(together), statistics.median(within) if within else None


def orders_of(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(text) for text in file]
    return {line["name"]: line["raw"]["page_order"] for line in lines if "page_order" in line.get("raw", {})}


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip())
        return 2
    one, other = map(orders_of, sys.argv[1:])
    overall, within = [], []
    for name in one:
        found = compared(one[name], other[name]) if name in other else None
        if found is None:
            continue
        overall.append(found[1])
        within += [found[2]] if found[2] is not None else []
        print(f"{name:<40} {found[0]:>6} {found[1]:>7.3f} " + ("      -" if found[2] is None else f"{found[2]:>7.3f}"))
    if overall:
        print(f"median correlation of ranks: {statistics.median(overall):.3f} of {len(overall)} experiments"
              + (f", within batches {statistics.median(within):.3f} of {len(within)}" if within else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
