# SPDX-License-Identifier: Apache-2.0
"""Compares the stub's log of small_training.py with what the program knows: check_log.py LOG FACTS [--operators]."""

import collections
import json
import sys

with open(sys.argv[1]) as file:
    events = [json.loads(line) for line in file]
with open(sys.argv[2]) as file:
    facts = json.load(file)
failures = 0


def check(what, holds, detail=""):
    global failures
    failures += not holds
    print(f"{'PASS' if holds else 'FAIL'}: {what}{f' ({detail})' if detail else ''}")


def of(kind):
    return [event for event in events if event["t"] == kind]


live, waiting, twice, unknown, ever, deferred = {}, set(), 0, 0, {}, set()
segments = {}
for event, before in zip(events, [{}, *events]):
    kind, va = event["t"], event.get("va")
    if kind == "tensor_alloc":
        twice += va in live or va in waiting
        live[va] = event["bytes"]
        ever[va, event["bytes"]] = True
    elif kind == "tensor_free":
        unknown += live.pop(va, None) is None
        waiting.add(va)
    elif kind == "tensor_free_done":
        unknown += va not in waiting
        waiting.discard(va)
        if (before.get("t"), before.get("va")) != ("tensor_free", va):
            deferred.add(va)
    elif kind == "segment_alloc":
        segments[va] = event["bytes"]
    elif kind == "segment_free":
        unknown += segments.pop(va, None) is None

check("tensor allocations were recorded", len(of("tensor_alloc")) > 50, f"{len(of('tensor_alloc'))}")
check("no address is allocated twice, no unknown one freed", twice == 0 and unknown == 0, f"{twice}, {unknown}")
check("sizes are the requested ones", all((va, size) in ever for va, size in facts["known"] + [facts["weight"]]))
check("segments add up to what the allocator reserved", sum(segments.values()) == facts["reserved"])
contained = all(any(s <= va and va + b <= s + n for s, n in segments.items()) for va, b in live.items())
check("every living tensor lies in a segment", contained)
check("the shared tensor's free completed later", facts["shared"] in deferred)
check("every free completes", not waiting, f"{len(waiting)} do not")
# At the program's end its tensors die too; the live tensors when it wrote its facts must be those that it had
# requested.
peak = collections.Counter()
total = count = 0
seen = False
for event in events:
    if event["t"] == "tensor_alloc":
        peak[event["va"]] = event["bytes"]
        total, count = total + event["bytes"], count + 1
    elif event["t"] == "tensor_free":
        total, count = total - peak.pop(event["va"], 0), count - 1
    if event["t"] == "tensor_alloc" and event["va"] == facts["known"][-1][0] and event["bytes"] == 777:
        seen = (total, count) == (facts["requested"], facts["allocations"])
        detail = f"{total} bytes in {count}, the allocator says {facts['requested']} in {facts['allocations']}"
check("living tensors are those that the allocator counts", seen, detail)

pushed = [event["name"] for event in of("push")]
check("modules are named", all(name in pushed for name in ["Sequential", "0:Conv2d", "4.linear:Linear", "4:Head"]))
check("backward and steps are named", pushed.count("backward") == 3 and pushed.count("step:SGD") == 3)
check("ranges are closed", len(pushed) == len(of("pop")))
marks = [(event["index"], event["begin"]) for event in of("iteration")]
expected = [(i, begins) for i in range(3) for begins in (True, False)]
check("iterations follow the optimizer's steps", marks[:6] == expected, f"{marks}")
check("flushed", len(of("flush")) == 1)
if "--operators" in sys.argv:
    names = collections.Counter(event["name"] for event in of("operator"))
    wanted = ["aten::convolution", "aten::convolution_backward", "aten::native_layer_norm", "aten::_foreach_add_"]
    check("operators of forward, backward and step", all(names[name] > 0 for name in wanted), f"{sum(names.values())}")
    balanced = len(of("operator")) == len(of("operator_outputs")) == len(of("operator_end"))
    check("operators end", balanced)
    weight = facts["weight"]
    users = {e["name"] for e in of("operator") if any(t[0] == weight[0] for t in e["tensors"])}
    check("the weight is read by its convolution", "aten::convolution" in users, f"{sorted(users)}")
    threads = {event["tid"] for event in of("operator")}
    check("operators on autograd's threads too", len(threads) > 1, f"{len(threads)} threads")
    print("operators:", dict(names.most_common(12)))
else:
    check("no operators unless asked for", not of("operator"))
sys.exit(1 if failures else 0)
