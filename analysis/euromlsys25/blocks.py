# SPDX-License-Identifier: Apache-2.0
"""The share of read faults (E17) from a recording alone, without the simulator: 2 MB blocks that come and leave.

    uvmsim trace dump workloads/paper/alexnet.uvmt >alexnet.jsonl    (likewise the others)
    python3 -m analysis.euromlsys25.blocks alexnet.jsonl ...

Memory lies where it was recorded, with PyTorch's caching allocator. A kernel touches the blocks of all its operands side
by side, each once; a block that is absent comes whole, and its pages that the kernel touches count as read (read, or
read and written) or written faults. Two orders of eviction: `lrm`, the driver's, by when a block came; `lru`, by its last
touch. Batches, the prefetcher and time are not modelled, so that what differs between the two is the order alone. Ten
iterations as in the sweep: a recording that has fewer repeats its third. Capacities are those of reading (a).

Of Whisper it also prints how much memory its encoder and the encoder's layers touch, and up to which factor that fits (E7).
"""

import collections
import json
import os
import sys

import pandas

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.euromlsys25.experiments import ENCODER, share_tables, windows_of
from analysis.euromlsys25.paper import FACTORS, ITERATIONS, MODELS
from analysis.json_text import parse_json
from analysis.tables import Table, print_tables

MIB = 1 << 20
BLOCK, PAGE = 2 * MIB, 4096
ORDERS = ("lrm", "lru")
MEMORY = os.path.join(os.path.dirname(__file__), "..", "..", "workloads", "paper", "memory.json")
# How a page of an extent is touched first, by its mode.
MODES = {"r": 0, "rw": 1, "w": 2}


def pages_between(begin, end):
    return (end - 1) // PAGE + 1 - begin // PAGE


def add_extent(blocks, begin, end, mode):
    """Adds the pages of [begin, end) to {block: [pages read, read and written, written]}."""
    for block in range(begin // BLOCK, (end - 1) // BLOCK + 1):
        inside = pages_between(max(begin, block * BLOCK), min(end, (block + 1) * BLOCK))
        blocks.setdefault(block, [0, 0, 0])[mode] += inside


class Recording:
    """`steps[i]`: what iteration i touches, pairs of (it faults, [(block, pages by mode)]); -1: before the first one.
    `layers`: the blocks that each part of the encoder touches in the last iteration, by name."""

    def __init__(self, lines):
        self.steps, self.layers = collections.defaultdict(list), {}
        self._places, self._quantum, self._iteration, self._ranges = {}, 0, -1, []
        for line in lines:
            record = parse_json(line)
            handle = getattr(self, "_" + record["t"], None)
            if handle is not None:
                handle(record)

    def _header(self, record):
        self._quantum = record["quantum_bytes"]

    def _object_alloc(self, record):
        if record.get("kind", "managed") == "managed":
            self._places[record["id"]] = record["va"]

    def _tensor_alloc(self, record):
        if record["object"] in self._places:
            self._places[record["id"]] = self._places[record["object"]] + record.get("offset", 0)

    def _range(self, record):
        if record["kind"] == "push":
            self._ranges.append(record["name"])
        elif record["kind"] == "pop":
            self._ranges.pop()
        elif record["kind"] == "iteration_begin":
            self._iteration += 1
            self.layers = {}

    def _kernel(self, record):
        touched = []
        for name, extents in record["accesses"]:
            if name not in self._places:
                continue
            blocks = {}
            for first, count, mode in extents:
                begin = self._places[name] + first * self._quantum
                add_extent(blocks, begin, begin + count * self._quantum, MODES[mode])
            for place, block in enumerate(sorted(blocks)):
                touched.append(((place + 0.5) / len(blocks), block, blocks[block]))
        touched.sort(key=lambda one: one[0])
        self.steps[self._iteration].append((True, [(block, pages) for _, block, pages in touched]))
        if self._ranges[:1] == [ENCODER]:
            self.layers.setdefault("".join(self._ranges[1:2]), set()).update(block for _, block, _ in touched)

    def _set(self, record, faults):
        name, offset = record["dst"] if isinstance(record.get("dst"), list) else (None, 0)
        if name in self._places and record["bytes"] > 0:
            blocks, begin = {}, self._places[name] + offset
            add_extent(blocks, begin, begin + record["bytes"], MODES["w"])
            self.steps[self._iteration].append((faults, list(blocks.items())))

    def _memset(self, record):
        self._set(record, True)

    def _memcpy(self, record):
        self._set(record, False)

    def iterations(self):
        """Returns (number, steps) of the set-up (-1) and of ten iterations."""
        recorded = max(self.steps) + 1
        first = list(range(min(3, recorded)))
        last = list(range(len(first), min(recorded, ITERATIONS)))
        order = first + first[-1:] * (ITERATIONS - len(first) - len(last)) + last
        return [(-1, self.steps[-1])] + [(number, self.steps[index]) for number, index in enumerate(order)]


def faults_of(recording, capacity, order):
    """Returns [(iteration, pages read, pages written)]: of the faults of every iteration."""
    resident, known, rows = collections.OrderedDict(), set(), []
    for number, steps in recording.iterations():
        reads = writes = 0
        for faults, touched in steps:
            for block, (read, both, written) in touched:
                if block in resident:
                    if order == "lru":
                        resident.move_to_end(block)
                    continue
                while len(resident) >= capacity:
                    resident.popitem(last=False)
                resident[block] = True
                if faults:
                    # What is read and written anew has nothing to read: its first fault is a write (kernel_work.cpp).
                    reads += read + (both if block in known else 0)
                    writes += written + (0 if block in known else both)
                known.add(block)
        rows.append((number, reads, writes))
    return [row for row in rows if row[0] >= 0]


def encoder_table(layers, reserved_mib, unmanaged_mib):
    """Returns how much the encoder touches, and up to which factor that and the code of kernels fit."""
    like = [blocks for name, blocks in layers.items() if name.startswith("blocks.")] or [set()]
    sets = {
        "the encoder": set().union(*layers.values()),
        "its largest layer": max(like, key=len),
        "common to all layers": set.intersection(*like),
    }
    table = Table("What Whisper's encoder touches", ["", "MiB", "fits up to factor"], texts=1)
    for name, blocks in sets.items():
        size = len(blocks) * BLOCK // MIB
        table.add(name, size, f"{reserved_mib / (size + unmanaged_mib):.2f}")
    return table


def load_dump(path):
    """Returns (program, its recording, the memory that it reserves, that of kernels' code and queues, both in MiB)."""
    program = os.path.basename(path).split(".")[0]
    if program not in MODELS:
        raise ResultError(f"{path}: not a program of the paper; allowed: {', '.join(MODELS)} and an ending")
    with open(MEMORY, encoding="utf-8") as file:
        memory = json.load(file)["programs"][program]
    with open(path, encoding="utf-8") as file:
        return program, Recording(file), max(memory["reserved_mib"]), memory["unmanaged_mib"]


def rows_of(program, recording, reserved_mib, unmanaged_mib):
    """Returns the faults of a recording by order of eviction, factor and iteration."""
    rows = []
    for factor in FACTORS:
        capacity = int(reserved_mib / factor - unmanaged_mib) * MIB // BLOCK
        for order in ORDERS:
            for number, reads, writes in faults_of(recording, capacity, order):
                rows.append((order, program, factor, number, reads, writes))
    return pandas.DataFrame(rows, columns=["evict", "program", "osf", "iteration", "reads", "writes"])


def main(arguments=None):
    parser = parser_of("euromlsys25.blocks", __doc__)
    parser.add_argument("dumps", nargs="+", metavar="DUMP", help="MODEL.jsonl of `uvmsim trace dump`")
    given = parser.parse_args(arguments)

    def work():
        parts, tables = [], []
        for path in given.dumps:
            program, recording, *memory = load_dump(path)
            parts.append(rows_of(program, recording, *memory))
            if recording.layers:
                tables.append(encoder_table(recording.layers, *memory))
        shares = share_tables("pages", windows_of(pandas.concat(parts, ignore_index=True)))
        print_tables("2 MB blocks alone", shares + tables)

    return run("euromlsys25.blocks", work)


if __name__ == "__main__":
    sys.exit(main())
