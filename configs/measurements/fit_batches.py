#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the steps of a fault batch on new memory cost, from recordings of every raw fault, taken together.

    fit_batches.py FILE.npz...

FILE: recordings of the driver's own event queue (ioctl 76 of /dev/nvidia-uvm-tools): `heads`, and per experiment i `f{i}`
(raw faults: CPU time, address, batch) and `r{i}` (replays). What a batch populates follows from its pages by the tree
prefetcher. Of each batch two times are known: from the replay before it to its first raw fault's record (the driver reads
and sorts), and from there to its own replay (it serves). Both are explained by least squares. Experiments in which
something was copied are left out, and of the reading those batches whose first fault came after the driver looked.
The queue itself takes 80 to 120 ns per raw fault while batches are served and 2 to 3 us per replay (docs/listening.md).
"""
import ast
import collections
import json
import os
import statistics
import struct
import sys
import zipfile

TYPES = {"f8": "d", "i8": "q", "u8": "Q", "i4": "i", "u4": "I", "u2": "H", "i2": "h", "u1": "B", "i1": "b"}
PAGES, UNIT, THRESHOLD = 512, 16, 51
LOOK_NS = 1500  # after a replay: later faults find the driver asleep
WHOLE = range(2000, 80000)  # ns of reading; beyond: it slept, or left its loop


def arrays(path):
    """Name -> (columns, rows), or text."""
    out = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            at = 10 if data[6] == 1 else 12
            size = struct.unpack("<H" if at == 10 else "<I", data[8:at])[0]
            kind = ast.literal_eval(data[at:at + size].decode())["descr"]
            body = data[at + size:]
            if isinstance(kind, list):
                row = "<" + "".join(TYPES[column[1][1:]] for column in kind)
                out[name[:-4]] = [column[0] for column in kind], list(struct.iter_unpack(row, body))
            elif kind[1] == "U":
                out[name[:-4]] = body.decode("utf-32-le").rstrip("\0")
    return out


def prefetched(resident, faulted):
    """Returns the pages that the tree prefetcher adds to these pages of a block: masks of 512 bits."""
    units = [u for u in range(PAGES // UNIT) if faulted >> (u * UNIT) & 0xffff]
    leaves = resident | faulted
    for u in units:
        leaves |= 0xffff << (u * UNIT)
    brought = 0
    for u in units:
        best, size = (u * UNIT, UNIT), UNIT
        while size < PAGES:
            size *= 2
            begin = u * UNIT // size * size
            if 100 * bin(leaves >> begin & (1 << size) - 1).count("1") > THRESHOLD * size:
                best = begin, size
        brought |= ((1 << best[1]) - 1) << best[0]
    return brought & ~resident


def batches(faults, replays):
    columns, rows = faults
    place = {name: i for i, name in enumerate(columns)}
    of_batch = collections.defaultdict(list)
    for row in rows:
        of_batch[row[place["batch"]]].append(row)
    ends = {row[2]: row for row in replays[1]}
    resident = collections.defaultdict(int)
    before = None
    for batch in sorted(of_batch, key=lambda b: of_batch[b][0][place["tc"]]):
        if batch not in ends:
            before = None
            continue
        rows, end = of_batch[batch], ends[batch]
        pages = {row[place["addr"]] >> 12 for row in rows}
        blocks = collections.defaultdict(int)
        for page in pages:
            blocks[page // PAGES] |= 1 << page % PAGES
        live = new = populated = 0
        for block, faulted in blocks.items():
            missing = faulted & ~resident[block]
            live += missing != 0
            new += missing != 0 and resident[block] == 0
            brought = prefetched(resident[block], missing) if missing else 0
            populated += bin(brought).count("1")
            resident[block] |= brought
        begin = min(row[place["tc"]] for row in rows)
        waiting = before and min(row[place["tg"]] for row in rows) <= before[0] + LOOK_NS
        yield {"raw": len(rows), "pages": len(pages), "live": live, "new": new, "populated": populated,
               "read": begin - before[1] if waiting and begin - before[1] in WHOLE else None, "serve": end[1] - begin}
        before = end


def least_squares(rows, target, names):
    points = [([1.0] + [row[name] for name in names], row[target]) for row in rows]
    size = len(names) + 1
    system = [[sum(x[i] * x[j] for x, _ in points) for j in range(size)] + [sum(x[i] * y for x, y in points)]
              for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(system[r][i]))
        system[i], system[pivot] = system[pivot], system[i]
        for r in range(size):
            if r != i:
                share = system[r][i] / system[i][i]
                system[r] = [a - share * b for a, b in zip(system[r], system[i])]
    found = [system[i][size] / system[i][i] for i in range(size)]
    error = statistics.median(abs(sum(a * b for a, b in zip(found, x)) - y) / y for x, y in points)
    terms = ", ".join(f"{name} {value:.0f}" for name, value in zip(["always"] + names, found))
    print(f"  {target}: {len(points)} batches, ns: {terms}; median error {100 * error:.0f} %")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    rows = []
    for path in sys.argv[1:]:
        found = arrays(path)
        for i in range(len(json.loads(found["heads"]))):
            moved = found.get(f"m{i}", ([], []))[1]
            if f"f{i}" in found and not moved:
                rows += list(batches(found[f"f{i}"], found[f"r{i}"]))[1:]  # the first meets cold caches
    rows = [row for row in rows if row["live"]]
    print(", ".join(os.path.basename(path) for path in sys.argv[1:]))
    least_squares([row for row in rows if row["read"]], "read", ["raw"])
    least_squares([row for row in rows if row["read"]], "read", ["raw", "pages"])
    least_squares(rows, "serve", ["raw", "pages", "live", "new", "populated"])
    lone = [row for row in rows if row["raw"] <= 3 and row["live"] == 1]
    for new, pages in ((1, 16), (0, 16), (0, 32), (0, 64)):
        serve = [row["serve"] for row in lone if (row["new"], row["populated"]) == (new, pages)]
        if serve:
            what = "a new block" if new else "a block that has some"
            print(f"  lone faults, {pages} pages of {what}: {len(serve)}, median {statistics.median(serve):.0f} ns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
