# SPDX-License-Identifier: Apache-2.0
"""Trains the two learned policies that come with uvmsim, `learned_ahead` (prefetch) and `learned_reuse` (evict): plain
Python, integers out. What they are is in policies/prefetch/learned_ahead.cpp and policies/evict/learned_reuse.cpp.

    PYTHONPATH=build/python/python python3 -m analysis.train_policies            # writes the two headers of weights
    PYTHONPATH=build/python/python python3 -m analysis.train_policies --text ahead.txt reuse.txt

The split was set before anything was trained: a shipped program (workloads/*.uvmt) is for training where the SHA-256 of
its name begins with 0 to 7, else it is held out. Of those for training, TRAINING names the ones that a minute of
recording suffices for; policies/learned.md has the gain on programs that were held out, and the cost.
"""

import argparse
import hashlib
import math
import pathlib
import random
import time

import uvmsim

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYSTEM = "h200-sxm-pcie5"
TRAINING = ("alexnet", "dlrm", "llm_generate", "pagerank")
SCALE = 256  # weights are integers: the value of one

# For learned_ahead, as in the policy: buckets of each feature, and the number of blocks ahead of each output.
AHEAD_BUCKETS = (9, 9, 11, 9, 10)
AHEAD_BLOCKS = (0, 1, 2, 4, 8)  # 0: all of the faulted block
AHEAD_WINDOW = 64  # number of later faults in which a predicted block must occur
# For learned_reuse: buckets of age and gap, of the gap before, and of the number of uses.
REUSE_BUCKETS = 20
REUSE_COUNTS = 8


def is_for_training(name):
    return hashlib.sha256(name.encode()).hexdigest()[0] in "01234567"


def log2_bucket(value, most):
    return min(value.bit_length(), most)


def delta_bucket(delta):
    """Buckets: 0 is no previous block; then deltas of 0, 1, 2, a few, many, -1, minus a few, minus many."""
    if delta is None:
        return 0
    if 0 <= delta <= 2:
        return 1 + delta
    if delta > 0:
        return 4 if delta <= 8 else 5
    return 6 if delta == -1 else 7 if delta >= -8 else 8


class FaultLog(uvmsim.Planner):
    """writes down kernels and faults, and moves nothing"""

    def on_begin(self, kernel):
        FaultLog.events.append((kernel.name, kernel.thread_blocks))

    def on_faulted(self, block, pages):
        FaultLog.events.append((block, pages))

    def next(self, queries):
        return None


class UseLog(uvmsim.Evictor):
    """least recently migrated, and writes down what is used"""

    information_class = "D2"

    def __init__(self, context):
        super().__init__(context)
        self.content, self.order = {}, {}

    def on_allocated(self, chunk, content):
        self.content[chunk] = content

    def on_migrated(self, chunk):
        self.order.pop(chunk, None)
        self.order[chunk] = True

    def on_released(self, chunk):
        self.order.pop(chunk, None)

    def on_touched(self, chunk):
        UseLog.uses.append(self.content[chunk])

    def select_victim(self, queries):
        return next((chunk for chunk in self.order if queries.evictable(chunk)), None)


class AheadFeatures:
    """The inputs of learned_ahead at a fault; the same code as its on_kernel() and features()."""

    def __init__(self):
        self.habits, self.counts, self.key = {}, [0] * 9, None
        self.begin(None)

    def begin(self, key):
        if self.key is not None and sum(self.counts) != 0:
            self.habits[self.key] = 1 + max(range(9), key=lambda bucket: (self.counts[bucket], -bucket))
        self.key, self.counts, self.last, self.delta, self.blocks = key, [0] * 9, None, 0, 0

    def fault(self, block, faulted):
        before = self.delta
        self.delta = delta_bucket(None if self.last is None else block - self.last)
        self.counts[self.delta] += 1
        features = (self.delta, before, log2_bucket(faulted, 10), log2_bucket(self.blocks, 8), self.habits.get(self.key, 0))
        self.last = block
        self.blocks += 1
        return features


def ahead_samples(events):
    """Returns (features, label of every output) of each fault."""
    knowledge, samples, blocks = AheadFeatures(), [], []
    for event in events:
        if isinstance(event[0], str):
            knowledge.begin(event)
        else:
            samples.append(knowledge.fault(event[0], bin(event[1]).count("1")))
            blocks.append(event[0])
    labelled = []
    for place, features in enumerate(samples):
        coming = set(blocks[place + 1 : place + 1 + AHEAD_WINDOW])
        labels = []
        for ahead in AHEAD_BLOCKS:
            wanted = range(blocks[place] + 1, blocks[place] + ahead + 1) if ahead else (blocks[place],)
            labels.append(2 * sum(block in coming for block in wanted) > len(wanted))
        labelled.append((features, labels))
    return labelled


def train_ahead(samples, epochs=4, rate=0.1):
    """Fits a logistic regression over buckets, one output at a time; returns integers: bias, then buckets, by
    output."""
    rng = random.Random(1)
    weights = []
    for output in range(len(AHEAD_BLOCKS)):
        bias, table = 0.0, [[0.0] * buckets for buckets in AHEAD_BUCKETS]
        for epoch in range(epochs):
            rng.shuffle(samples)
            step = rate / (1 + epoch)
            for features, labels in samples:
                score = bias + sum(table[i][bucket] for i, bucket in enumerate(features))
                error = labels[output] - 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))
                bias += step * error
                for i, bucket in enumerate(features):
                    table[i][bucket] += step * error
        weights.append(round(bias * SCALE))
        for row in table:
            weights += [round(weight * SCALE) for weight in row]
    return weights


def reuse_samples(uses, rng):
    """Returns (age, gap, gap before, count, log2 of the next use's distance) of contents in memory, at random
    moments."""
    places = {}
    for place, content in enumerate(uses):
        places.setdefault(content, []).append(place)
    samples = []
    for content, at in places.items():
        for i in range(2, len(at)):
            distance = at[i] - at[i - 1]
            for _ in range(2):  # two moments between two uses
                age = rng.randrange(distance)
                samples.append((age, at[i - 1] - at[i - 2], at[i - 2] - at[i - 3] if i > 2 else 0, i, distance - age))
        for i, last in enumerate(at[-1:]):  # never used again: at least the rest of the program away
            age = rng.randrange(max(1, len(uses) - last))
            gap = at[-1] - at[-2] if len(at) > 1 else 0
            samples.append((age, gap, at[-2] - at[-3] if len(at) > 2 else 0, len(at), 2 * len(uses)))
    return samples


def train_reuse(samples, rounds=8):
    """Backfits: each table gets the average remainder of log2(distance) after the other tables, by bucket."""
    rows = []
    for age, gap, before, count, distance in samples:
        pair = log2_bucket(age, REUSE_BUCKETS - 1) * REUSE_BUCKETS + log2_bucket(gap, REUSE_BUCKETS - 1)
        rows.append((pair, log2_bucket(before, REUSE_BUCKETS - 1), log2_bucket(count, REUSE_COUNTS - 1), math.log2(distance)))
    tables = [[0.0] * (REUSE_BUCKETS * REUSE_BUCKETS), [0.0] * REUSE_BUCKETS, [0.0] * REUSE_COUNTS]
    mean = sum(row[3] for row in rows) / len(rows)
    for _ in range(rounds):
        for which, table in enumerate(tables):
            sums, counts = [0.0] * len(table), [0] * len(table)
            for row in rows:
                others = sum(tables[i][row[i]] for i in range(3) if i != which)
                sums[row[which]] += row[3] - mean - others
                counts[row[which]] += 1
            # Shrinks buckets with few samples.
            tables[which] = [total / (count + 8) for total, count in zip(sums, counts)]
    return [round(mean * SCALE)] + [round(value * SCALE) for table in tables for value in table]


def record(name):
    trace = uvmsim.Trace(str(ROOT / f"workloads/{name}.uvmt"))
    iterations = {"iterations": 2} if name in ("alexnet", "dlrm") else {}
    FaultLog.events = []
    trace.run(SYSTEM, osf=2, plan=FaultLog, layout="pytorch_caching", **iterations)
    UseLog.uses = []
    iterations = {"iterations": 4} if iterations else {}
    trace.run(SYSTEM, osf=1.01, evict=UseLog, layout="pytorch_caching", **iterations)
    return FaultLog.events, UseLog.uses


def header(name, doc, weights):
    lines, line = [], "   "
    for weight in weights:
        if len(line) + len(f" {weight},") > 119:
            lines.append(line)
            line = "   "
        line += f" {weight},"
    lines.append(line)
    body = "\n".join(lines)
    return (f"// SPDX-License-Identifier: Apache-2.0\n// {doc}\n// Made by analysis/train_policies.py; do not edit.\n#pragma once\n\n#include <cstdint>\n\n"
            f"namespace uvmsim::policy {{\n\n// clang-format off\ninline constexpr std::int32_t {name}[] = {{\n{body}\n}};\n"
            f"// clang-format on\n\n}}  // namespace uvmsim::policy\n")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="python3 -m analysis.train_policies", description=__doc__.split("\n\n")[0])
    parser.add_argument("--text", nargs=2, metavar=("AHEAD", "REUSE"), help="write files for the policies' parameter `weights`")
    parser.add_argument("--programs", default=",".join(TRAINING), help="shipped programs to train on, separated by commas")
    given = parser.parse_args()
    names = given.programs.split(",")
    for name in names:
        if not is_for_training(name):
            parser.error(f"'{name}' is held out; allowed: names whose SHA-256 begins with 0 to 7")
    ahead, reuse, rng = [], [], random.Random(1)
    begin = time.process_time()
    for name in names:
        events, uses = record(name)
        faults, reused = ahead_samples(events), reuse_samples(uses, rng)
        most = 40000  # samples per program, so that none dominates
        ahead += rng.sample(faults, min(most, len(faults)))
        reuse += rng.sample(reused, min(most, len(reused)))
        print(f"{name}: {len(faults)} faults, {len(uses)} uses, {len(reused)} distances")
    recorded = time.process_time()
    weights = train_ahead(ahead), train_reuse(reuse)
    print(f"recording {recorded - begin:.0f} s, training {time.process_time() - recorded:.0f} s of processor time; "
          f"{len(weights[0])} and {len(weights[1])} weights")  # fmt: skip
    if given.text:
        for path, values in zip(given.text, weights):
            pathlib.Path(path).write_text("".join(f"{value}\n" for value in values))
        return
    folder = ROOT / "policies"
    (folder / "prefetch/learned_ahead_weights.h").write_text(
        header("kAheadWeights", "Weights of learned_ahead: by output a bias, then the buckets of each feature.", weights[0]))  # fmt: skip
    (folder / "evict/learned_reuse_weights.h").write_text(
        header("kReuseWeights", "Weights of learned_reuse: the mean, then the tables of age and gap, gap before, and count.", weights[1]))  # fmt: skip


if __name__ == "__main__":
    main()
