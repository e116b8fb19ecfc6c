#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the constants of a GPU's fault path, and its topology, from a log of `uvm_experiments --raw-faults`.

    fault_constants.py LOG [--topology]

Each line says what it is computed from: the number of windows, bursts or batches. A window is the time from 1.6 us
before the GPU's time of a replay (SMs continue up to 1.4 us before it) to the same point before the next replay.
--topology prints the GPC and the MMU client of every SM. Exit status 2: the file is not such a log.
"""
import argparse
import bisect
import collections
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
import raw_faults  # noqa: E402

PAGE, REGION = 4096, 32768
LEAD_NS, FRESH_NS, STEP_NS = 1600, 3000, 64
FULL = 256
BURST_GAP_NS, LEAST_BURST = 96, 64


def quartiles(values):
    values = sorted(values)
    last = len(values) - 1
    return values[last // 4], values[last // 2], values[last * 3 // 4]


def show(name, values, unit, source):
    if not values:
        print(f"{name:<46} not seen")
        return
    low, middle, high = quartiles(values)
    number = (lambda x: f"{x:.1f}") if any(isinstance(x, float) for x in values) else str
    print(f"{name:<46} {number(middle):>8} {unit} ({number(low)} to {number(high)}), {len(values)} {source}")


class Experiment:
    """A section with its batches and windows."""

    def __init__(self, section):
        self.head, self.name, self.blocks = section.head, section.name, section.blocks
        self.batches = raw_faults.batches_of(section)
        self.replays = raw_faults.replay_times(section)
        self.faults = sorted((fault for batch in self.batches for fault in batch.faults), key=lambda fault: fault["gpu_ns"])
        stamps = sorted(self.replays.values())
        self.windows = {}
        for fault in self.faults:
            window = bisect.bisect_right(stamps, fault["gpu_ns"] + LEAD_NS)
            self.windows.setdefault(window, []).append(fault)

    def is_pattern(self, *patterns):
        return self.head.get("pattern") in patterns

    def first_window(self):
        return self.windows.get(0, [])

    def fresh(self):
        """Returns batches that begin empty and are not full, each with the time of the replay before and the batch
        after it."""
        for i, batch in enumerate(self.batches[1:], 1):
            before = self.batches[i - 1]
            stamp = self.replays.get((before.gpu, before.number))
            if stamp is not None and len(batch) < FULL and batch.first_ns > stamp - FRESH_NS and batch.last_ns > stamp:
                yield stamp, batch, self.batches[i + 1] if i + 1 < len(self.batches) else None


def check_head(path, section):
    for key, kind in (("pattern", str), ("grid", int), ("threads", int), ("warp_pitch", int), ("address", int)):
        if not isinstance(section.head.get(key), kind):
            raise raw_faults.LogError(f"{path}: section '{section.name}' has no '{key}'; is this a log of uvm_experiments --raw-faults?")
    if section.head["threads"] <= 0:
        raise raw_faults.LogError(f"{path}: section '{section.name}' has no threads")


def spacings(experiments):
    out = []
    for experiment in experiments:
        times = [fault["gpu_ns"] for fault in experiment.faults]
        begin = 0
        for end in range(1, len(times) + 1):
            if end < len(times) and times[end] - times[end - 1] <= BURST_GAP_NS:
                continue
            if end - begin >= LEAST_BURST:
                out.append((times[end - 1] - times[begin]) / (end - begin - 1))
            begin = end
    return out


def clock_step(experiments):
    step = 0
    for experiment in experiments:
        for a, b in zip(experiment.faults, experiment.faults[1:]):
            step = math.gcd(step, b["gpu_ns"] - a["gpu_ns"])
    return step


def limits(experiments):
    """Counts SM windows by number of raw faults, kind of access, and number of regions."""
    most = {kind: collections.Counter() for kind in ("store packets", "scattered stores", "load requests", "regions of 32 KB")}
    for experiment in experiments:
        if experiment.is_pattern("atomic"):
            continue
        scattered = experiment.is_pattern("lanes")
        for window in experiment.windows.values():
            by_sm = {}
            for fault in window:
                by_sm.setdefault((fault["gpc"], fault["client"]), []).append(fault)
            for faults in by_sm.values():
                kinds = {fault["access"] for fault in faults}
                most["regions of 32 KB"][len({fault["address"] // REGION for fault in faults})] += 1
                if kinds == {raw_faults.READ}:
                    most["load requests"][len(faults)] += 1
                elif kinds == {raw_faults.WRITE}:
                    most["scattered stores" if scattered else "store packets"][len(faults)] += 1
    return most


def topology(experiments):
    """Returns for each SM how many faults of its blocks came from which (GPC, client), from experiments whose pages
    identify the warp."""
    seen = {}
    for experiment in experiments:
        pitch = experiment.head["warp_pitch"]
        if not experiment.is_pattern("walk", "burst") or pitch < PAGE:
            continue
        sms = experiment.blocks["sm"]
        for fault in experiment.faults:
            warp = (fault["address"] - experiment.head["address"]) // pitch
            block = warp * 32 // experiment.head["threads"]
            if 0 <= block < len(sms):
                seen.setdefault(sms[block], collections.Counter())[(fault["gpc"], fault["client"])] += 1
    return seen


def print_topology(seen, whole):
    if not seen:
        print("topology: not seen")
        return
    places = {sm: counts.most_common(1)[0][0] for sm, counts in seen.items()}
    agree = sum(counts.most_common(1)[0][1] for counts in seen.values())
    total = sum(sum(counts.values()) for counts in seen.values())
    gpcs = collections.Counter(gpc for gpc, _ in places.values())
    print(f"topology: {len(places)} SMs, {len(set(places.values()))} MMU clients, {len(gpcs)} GPCs of "
          f"{', '.join(f'{n}' for _, n in sorted(gpcs.items()))} SMs; {agree} of {total} faults agree")
    if whole:
        for gpc in sorted(gpcs):
            print(f"  GPC {gpc}: " + " ".join(f"{sm}:{place[1]}" for sm, place in sorted(places.items()) if place[0] == gpc))


def print_single_accesses(experiments):
    print("raw faults of the first window (what an access raises):")
    by_name = {experiment.name: experiment for experiment in experiments}
    for name in by_name:
        if name.startswith(("one_word_", "lanes_own_", "warps_same_page_", "burst4_1x1warps_g1_", "burst16_1x1warps_g1_",
                            "blocks_same_word_", "atomic_own_line_1warps_g1_", "atomic_one_word_1warps_g1_")):
            faults = by_name[name].first_window()
            print(f"  {name:<40} {len(faults):>5} of {len({(f['gpc'], f['client']) for f in faults}):>4} SMs, "
                  f"{len({f['address'] for f in faults}):>4} pages")


def print_stop(experiments):
    """Prints raw faults per SM and window in loops with one block per SM, after the first window."""
    for kind, access in (("stores", raw_faults.WRITE), ("loads", raw_faults.READ)):
        counts = collections.Counter()
        for experiment in experiments:
            if not experiment.is_pattern("loop") or experiment.head.get("access_bytes") != 16 or experiment.head["grid"] > 16:
                continue
            for number, window in experiment.windows.items():
                if number > 0:
                    by_sm = collections.Counter((f["gpc"], f["client"]) for f in window if f["access"] == access)
                    counts.update(by_sm.values())
        if counts:
            total = sum(counts.values())
            text = ", ".join(f"{n}: {100 * c / total:.0f} %" for n, c in sorted(counts.items()) if c * 100 >= total)
            print(f"raw faults of an SM before it stops, {kind}: {text} ({total} SM windows)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--topology", action="store_true", help="the GPC and client of every SM")
    given = parser.parse_args()
    processes = raw_faults.read(given.log)
    experiments = []
    for process in processes:
        print(f"GPU: {process.head.get('gpu')}, driver {process.head.get('driver')}, {process.head.get('sm_count')} SMs; "
              f"{len(process.sections)} experiments, {process.dropped} events dropped{'' if process.complete else '; not complete'}")
        for section in process.sections:
            check_head(given.log, section)
            experiments.append(Experiment(section))
    loops = [experiment for experiment in experiments if experiment.is_pattern("loop")]
    print(f"{'clock step':<46} {clock_step(experiments):>8} ns")
    show("fault unit: time per raw fault", spacings(experiments), "ns", "bursts of 64 faults and more")
    for kind, counts in limits(experiments).items():
        if counts:
            tops = sorted(counts)[-3:]
            text = ", ".join(f"{n} in {counts[n]}" for n in tops)
            print(f"{'most of an SM in a window: ' + kind:<46} {max(counts):>8}     ({text} of {sum(counts.values())} SM windows)")
    fresh = [item for experiment in loops for item in experiment.fresh()]
    show("loops: raw faults of a batch that begins empty", [len(batch) for _, batch, _ in fresh], "  ", "batches")
    show("loops: its pages", [len(batch.pages) for _, batch, _ in fresh], "  ", "batches")
    show("loops: its SMs", [len(batch.sms) for _, batch, _ in fresh], "  ", "batches")
    every = [item for experiment in experiments for item in experiment.fresh()]
    put = [(batch.last_ns - stamp + after.first_ns - stamp) // 2 for stamp, batch, after in every
           if after is not None and 0 <= after.first_ns - batch.last_ns <= STEP_NS]
    show("replay to the reading of PUT", put, "ns", "batches")
    show("replay to the first raw fault", [batch.first_ns - stamp for stamp, batch, _ in fresh], "ns", "batches of loops")
    starts = [experiment.faults[0]["gpu_ns"] - experiment.blocks["begin_ns"][0] for experiment in experiments
              if experiment.head["grid"] == 1 and experiment.faults and len(experiment.blocks["begin_ns"]) == 1]
    show("begin of a lone block to its first raw fault", [x for x in starts if x >= 0], "ns", "experiments")
    full = sum(len(batch) >= FULL for experiment in loops for batch in experiment.batches)
    print(f"{'loops: batches of 256 raw faults':<46} {full:>8}     of {sum(len(e.batches) for e in loops)}")
    print_stop(experiments)
    print_single_accesses(experiments)
    print_topology(topology(experiments), given.topology)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except raw_faults.LogError as error:
        print(f"fault_constants: error: {error}", file=sys.stderr)
        sys.exit(2)
