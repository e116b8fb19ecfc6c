# SPDX-License-Identifier: Apache-2.0
"""Summarises a stub's log in a few lines: operator_summary.py LOG."""

import collections
import json
import sys

with open(sys.argv[1]) as file:
    events = [json.loads(line) for line in file]
kinds = collections.Counter(event["t"] for event in events)
print(dict(kinds))
names = collections.Counter(event["name"] for event in events if event["t"] == "operator")
print("operators:", dict(names.most_common(14)))
# The memory of an operator should lie in memory that the allocator handed out.
live, lost, named = {}, collections.Counter(), 0
current = []
for event in events:
    if event["t"] == "tensor_alloc":
        live[event["va"]] = event["bytes"]
    elif event["t"] == "tensor_free_done":
        live.pop(event["va"], None)
    elif event["t"] == "operator":
        current.append(event["name"])
    elif event["t"] == "operator_end":
        current.pop()
    for va, size, _ in event.get("tensors", []):
        named += 1
        if va in live and size <= live[va]:
            continue
        if not any(start <= va and va + size <= start + room for start, room in live.items()):
            lost[current[-1]] += 1
print(f"{named} tensors named, {sum(lost.values())} of them in no living tensor: {dict(lost.most_common(5))}")
