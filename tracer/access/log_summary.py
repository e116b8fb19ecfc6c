#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Summarises what an access log covers. usage: log_summary.py ACCESS_LOG.jsonl"""
import collections
import json
import sys

nodes = launches = patched = unknown = runs = phases = phase_runs = 0
kinds, empty, met = collections.Counter(), collections.Counter(), collections.Counter()
with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    for line in log:
        try:
            event = json.loads(line)
        except ValueError:
            print("the last line is cut off")
            break
        kinds[event["t"]] += 1
        if event["t"] == "note":
            print("note:", event["text"])
        if event["t"] != "launch":
            continue
        launches += 1
        patched += event["patched"]
        nodes += "node" in event
        runs += len(event.get("accesses", []))
        phases += "phases" in event
        phase_runs += sum(len(phase[2]) for phase in event.get("phases", []))
        if not event.get("accesses"):
            empty[event["name"]] += 1
        if event.get("unknown"):
            unknown += 1
            met[event["name"]] += 1
print(f"launches {launches}, patched {patched}, of graphs {nodes}, with nothing touched {sum(empty.values())}, with unknown addresses"
      f" {unknown}, runs a launch {runs / max(launches, 1):.1f}, launches with phases {phases}, runs of phases {phase_runs}")
print("events:", " ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
for title, names in (("nothing touched", empty), ("unknown addresses", met)):
    for name, count in names.most_common(4):
        print(f"  {title}: {count} x {name[:100]}")
