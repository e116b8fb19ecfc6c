#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the medians of the output of uvm_two_processes: two_processes_summary.py FILE.jsonl[.gz] > SUMMARY.json"""
import gzip
import json
import statistics
import sys

opener = gzip.open if sys.argv[1].endswith(".gz") else open
with opener(sys.argv[1], "rt", encoding="utf-8") as file:
    runs = [json.loads(line) for line in file]


def of(experiment):
    return [run for run in runs if run["experiment"] == experiment]


def median(values):
    return round(statistics.median(values))


def watched(experiment):
    """Returns how long a watcher computes at a time, and how long it then stops, in ns."""
    gaps = [run["gaps_ns"] for run in of(experiment)]
    return {
        "turn_ns": median([after[0] - before[1] for g in gaps for before, after in zip(g, g[1:])]),
        "away_ns": median([end - begin for g in gaps for begin, end in g]),
    }


def products(experiment, phase):
    some = [run[phase] for run in of(experiment) if phase in run]
    return {
        "kernel_ns": [sum(end - begin for begin, end in run["kernels"]) for run in some],
        "fault_batches": [len(run["batches"]) for run in some],
        "batch_ns": [median([end - begin for begin, end, _ in run["batches"]]) for run in some if run["batches"]],
    }


first = next(run for run in runs if "gpu" in run)
summary = {
    "gpu": first["gpu"],
    "cuda_driver": first["driver"],
    "context_bytes": of("contexts")[0].get("context_bytes") or of("contexts")[1]["context_bytes"],
    "watchers": watched("watchers"),
    "three_watchers": watched("three_watchers"),
    "visits_ns": [v for run in of("visits") for v in run.get("visits_ns", [])],
    "away_for_visits_ns": [e - b for run in of("visits") for b, e in run.get("gaps_ns", [])],
    "spin_alone_ns": of("spin_alone")[0]["spin_ns"],
    "two_spins_ns": sorted(run["spin_ns"] for run in of("two_spins")),
}
for name in ("products_alone", "products_and_watcher", "two_products"):
    summary[name] = products(name, "first")
summary["resident_products_alone"] = products("products_alone", "resident")
json.dump(summary, sys.stdout, indent=1)
print()
