#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the log that smoke.cu leaves: PASS or FAIL for every kind of event.

Usage: check_smoke.py LOG            everything that smoke.cu does
       check_smoke.py LOG --pairs    any program: every launch and copy has its time
       check_smoke.py LOG --killed   a program that was killed: whole lines, most launches with their time
"""
import collections
import json
import sys

mode = sys.argv[2] if len(sys.argv) > 2 else ""
text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
lines = text.splitlines()
if mode == "--killed" and not text.endswith("\n"):
    lines.pop()  # a line that was cut off: readers drop it too
events = [json.loads(line) for line in lines]
by_type = collections.defaultdict(list)
for event in events:
    by_type[event["t"]].append(event)

print("== log: %d events: %s" % (len(events), ", ".join("%s %d" % (t, len(e)) for t, e in sorted(by_type.items()))))
failures = 0


def check(name, ok, detail=""):
    global failures
    failures += 0 if ok else 1
    print("%s %s%s" % ("PASS" if ok else "FAIL", name, "" if ok and not detail else "  [%s]" % (detail,)))


def some(type_of_event, **fields):
    return [e for e in by_type[type_of_event] if all(e.get(k) == v for k, v in fields.items())]


launches, kernels = by_type["launch"], by_type["kernel"]
key = lambda e: (e["corr"], e.get("node", 0))


def check_pairs():
    launched, ran = set(map(key, launches)), set(map(key, kernels))
    check("a kernel record for every launch", launched == ran and len(ran) == len(kernels),
          "%d launches, %d kernels, without kernel %s, without launch %s" %
          (len(launches), len(kernels), sorted(launched - ran)[:9], sorted(ran - launched)[:9]))
    for kind in ("memcpy", "memset"):
        wanted = {key(e) for e in by_type[kind]}
        got = {key(e) for e in by_type[kind + "_time"]}
        check("%s_time for every %s" % (kind, kind), wanted == got,
              "%d, no time: %s, no call: %s" % (len(wanted), sorted(wanted - got)[:9], sorted(got - wanted)[:9]))


if mode == "--killed":
    check("header comes first", events[0]["t"] == "header")
    check("no end", not by_type["end"])
    timed = {key(e) for e in kernels}
    share = sum(key(e) in timed for e in launches) / max(len(launches), 1)
    check("most launches have their time", len(launches) > 1000 and share > 0.5,
          "%d launches, %.1f %% with time" % (len(launches), 100 * share))
    sys.exit(1 if failures else 0)
if mode == "--pairs":
    check_pairs()
    nodes = [e for e in launches if "node" in e]
    print("     %d launches, %d of graph nodes, %d without a pointer" %
          (len(launches), len(nodes), sum(not e["params"] for e in launches)))
    for note in by_type["note"]:
        print("     note: " + note["text"])
    sys.exit(1 if failures else 0)

header = events[0]
check("header comes first", header["t"] == "header", json.dumps(header)[:400])
for field in ("gpu", "sm_count", "compute_capability", "driver", "cuda", "program"):
    check("header has " + field, bool(header.get(field)))
check("end comes last", events[-1]["t"] == "end", json.dumps(events[-1]))
check("nothing dropped", events[-1].get("dropped") == 0)
for note in by_type["note"]:
    print("     note: " + note["text"])

for kind, least in (("device", 4), ("managed", 1), ("pinned", 2), ("pool", 1), ("vmm", 1)):
    allocs, frees = some("alloc", kind=kind), some("free", kind=kind)
    check("alloc %s" % kind, len(allocs) >= least, "%d" % len(allocs))
    check("free %s" % kind, len(frees) >= 1, "%d" % len(frees))

plain = [e for e in launches if "node" not in e]
nodes = [e for e in launches if "node" in e]
names = collections.Counter(e["name"] for e in launches)
check("launches outside graphs", len(plain) == 6, "%d: %s" % (len(plain), dict(names)))
check("launches of graph nodes", len(nodes) == 4, "%d" % len(nodes))
adds = [e for e in plain if "add" in e["name"]]
check("three pointers of add", len(adds) == 1 and len(adds[0]["params"]) == 3, adds and adds[0]["params"])
scales = [e for e in plain if "scale" in e["name"]]
check("two pointers inside a struct", len(scales) == 1 and len(scales[0]["params"]) == 2, scales and scales[0]["params"])
check("pointers of graph nodes", all(e["params"] for e in nodes) and len(nodes) > 0, [len(e["params"]) for e in nodes])
check("names of graph nodes", all(e["name"] for e in nodes) and len(nodes) > 0)

check_pairs()
times = {key(e): e for e in kernels}
late = [times[key(e)]["start_ns"] - e["begin_ns"] for e in launches if key(e) in times]
check("kernels start after their launch begins, within 1 s", bool(late) and all(0 <= d < 10**9 for d in late),
      "ns from launch to start: %s" % late)
check("kernels last 0.5 us to 1 s", all(500 <= e["end_ns"] - e["start_ns"] < 10**9 for e in kernels),
      [e["end_ns"] - e["start_ns"] for e in kernels])
check("registers of kernels", all(e["registers"] > 0 for e in kernels))

for kind, least in (("htod", 3), ("dtoh", 1), ("dtod", 2)):
    check("memcpy %s" % kind, len(some("memcpy", kind=kind)) >= least, "%d" % len(some("memcpy", kind=kind)))
check("memcpy 2-D", any(e.get("rows") == 64 and e.get("row_bytes") == 1000 for e in by_type["memcpy"]))
check("memset 2-D", any(e.get("rows") == 64 and e.get("row_bytes") == 1000 for e in by_type["memset"]))
check("memset of a graph node", any("node" in e for e in by_type["memset"]))
check("memcpy of a graph node", any("node" in e for e in by_type["memcpy"]))
check("prefetch to the GPU and back", {e["to"] for e in by_type["prefetch"]} >= {0, -1},
      [(e["bytes"], e["to"]) for e in by_type["prefetch"]])
check("advise", len(some("advise", advice="set_preferred_location", to=0)) == 1)
check("discard (needs CUDA 13)", len(by_type["discard"]) == 2, len(by_type["discard"]))
for kind in ("device", "stream", "event_record", "event_wait", "event_synchronize"):
    check("sync %s" % kind, bool(some("sync", kind=kind)), "%d" % len(some("sync", kind=kind)))
check("window", [e["open"] for e in by_type["window"]] == [True, False])
check("NVTX ranges", [e["name"] for e in by_type["push"]] == ["copies", "kernels"] and len(by_type["pop"]) == 2)
for counter in ("gpu_fault", "htod", "dtoh", "cpu_fault"):
    check("uvm %s" % counter, bool(some("uvm", counter=counter)), "%d" % len(some("uvm", counter=counter)))
for event in by_type["uvm"][:6]:
    print("     " + json.dumps(event))

hosts = [e for e in events if "seq" in e]
check("host events have their time", all(e["begin_ns"] <= e["end_ns"] for e in hosts))
check("places are unique", len({e["seq"] for e in hosts}) == len(hosts))
first = sorted(hosts, key=lambda e: e["seq"])
check("places follow time in one thread", all(a["begin_ns"] <= b["begin_ns"] or a["tid"] != b["tid"] or
                                              b["t"] in ("alloc",) or a["t"] in ("alloc",)
                                              for a, b in zip(first, first[1:])))
print("== the log's first lines of each kind")
shown = set()
for line, event in zip(lines, events):
    if event["t"] not in shown:
        shown.add(event["t"])
        print("   " + line[:300])
print("%d failed" % failures)
sys.exit(1 if failures else 0)
