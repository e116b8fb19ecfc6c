#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads logs of raw faults, plain or zstd-compressed, which `uvmtrace faults` and `uvm_experiments --raw-faults` write.

    import raw_faults                                   # with this folder in sys.path or PYTHONPATH
    for process in raw_faults.read("bfs.faults.zst"):
        for section in process.sections:
            section.faults["gpu_ns"], section.faults["address"], ...   # array.array; numpy.asarray() takes it without a copy

It needs only Python (for compressed logs also the command zstd). The format is described in tracer/faults/README.md.

    tracer/faults/raw_faults.py LOG         one line per section
"""

import array
import json
import subprocess
import sys

VERSION = 1
# limits the expansion of a compressed log, so that it cannot exhaust memory
MOST_EXPANSION, ALWAYS_ALLOWED = 500, 64 << 20
PAGE = 4096
HOST = 0
CLIENT_HUB = 2
READ, WRITE, ATOMIC = 1, 2, 3

# Tables of a section in their order; each lists its columns: name and type of the array module.
TABLES = {
    "faults": (("gpu_ns", "Q"), ("cpu_ns", "Q"), ("address", "Q"), ("batch", "I"), ("gpu", "H"), ("gpc", "H"), ("client", "H"),
               ("access", "B"), ("fault_type", "B"), ("client_type", "B")),
    "replays": (("gpu_ns", "Q"), ("cpu_ns", "Q"), ("batch", "I"), ("gpu", "H")),
    "migrations": (("cpu_begin_ns", "Q"), ("cpu_end_ns", "Q"), ("gpu_begin_ns", "Q"), ("gpu_end_ns", "Q"), ("address", "Q"),
                   ("bytes", "Q"), ("source", "H"), ("destination", "H"), ("cause", "B")),
    "blocks": (("begin_ns", "Q"), ("end_ns", "Q"), ("sm", "I")),
}


class LogError(Exception):
    """The file is not a log of raw faults. The message is one line: which file, what is wrong."""


class Section:
    """Events of a period of time: tables of columns, and the keys of its line (`head`)."""

    def __init__(self, head, tables):
        self.head = head
        self.name = head["name"]
        self.dropped = head["dropped"]
        self.faults, self.replays = tables["faults"], tables["replays"]
        self.migrations, self.blocks = tables["migrations"], tables["blocks"]


class Process:
    """The log of one process. If it is not complete, the program was killed, and the last events are missing."""

    def __init__(self, head):
        self.head, self.sections = head, []
        self.complete, self.dropped, self.problem = False, 0, ""


def read(path):
    """Returns the processes of a log. Raises LogError if the file is not one."""
    data = _bytes_of(path)
    processes, at = [], 0
    while at < len(data):
        end = data.find(b"\n", at)
        if end < 0:
            break
        head = _line(path, data[at:end])
        at = end + 1
        kind = head.get("t")
        if kind == "header":
            _check_header(path, head)
            processes.append(Process(head))
        elif not processes:
            raise LogError(f"{path}: does not begin with the header of a log of raw faults")
        elif processes[-1].complete or kind not in ("events", "end"):
            raise LogError(f"{path}: a line of type {kind!r} where it does not belong")
        elif kind == "end":
            processes[-1].complete, processes[-1].problem = True, str(head.get("problem", ""))
        else:
            tables, at = _tables(path, head, data, at)
            if tables is None:
                return processes
            processes[-1].sections.append(Section(head, tables))
            processes[-1].dropped += head["dropped"]
    if not processes:
        raise LogError(f"{path}: is not a log of raw faults: it has no complete line")
    return processes


def _bytes_of(path):
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    if data[:4] != b"\x28\xb5\x2f\xfd":
        return data
    most = ALWAYS_ALLOWED + MOST_EXPANSION * len(data)
    try:
        with subprocess.Popen(["zstd", "-dcq", "--", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            plain = run.stdout.read(most + 1)
            if len(plain) > most:
                run.kill()
                raise LogError(f"{path}: expands to more than {MOST_EXPANSION} times its size")
    except OSError as error:
        raise LogError(f"{path}: is compressed, and the command zstd is missing") from error
    if run.returncode != 0:
        raise LogError(f"{path}: is damaged: zstd cannot decompress it")
    return plain


def _line(path, text):
    try:
        head = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise LogError(f"{path}: a line is not JSON; is this a log of raw faults?") from error
    if not isinstance(head, dict):
        raise LogError(f"{path}: a line is not an object")
    return head


def _check_header(path, head):
    if head.get("pass") != "faults":
        raise LogError(f"{path}: is the log of another pass, not of raw faults")
    if head.get("version") != VERSION:
        raise LogError(f"{path}: has version {head.get('version')!r}; this program reads version {VERSION}")


def _count(path, head, key):
    value = head.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise LogError(f"{path}: '{key}' of a section is {value!r}; allowed: a number from 0 on")
    return value


def _tables(path, head, data, at):
    if not isinstance(head.get("name"), str):
        raise LogError(f"{path}: a section has no name")
    _count(path, head, "dropped")
    tables = {}
    for table, columns in TABLES.items():
        rows = _count(path, head, table)
        if rows * sum(array.array(kind).itemsize for _, kind in columns) > len(data) - at:
            return None, at  # cut off
        tables[table] = {}
        for name, kind in columns:
            column = array.array(kind)
            size = rows * column.itemsize
            column.frombytes(data[at:at + size])
            if sys.byteorder == "big":
                column.byteswap()
            tables[table][name] = column
            at += size
    return tables, at


def rows_of(table):
    """Yields the rows of a table as dictionaries."""
    names = list(table)
    return [dict(zip(names, values)) for values in zip(*table.values())]


class Batch:
    """The raw faults of one fault batch, by GPU time."""

    def __init__(self, gpu, number, faults):
        self.gpu, self.number = gpu, number
        self.faults = sorted(faults, key=lambda fault: fault["gpu_ns"])
        self.pages = {fault["address"] // PAGE for fault in faults}
        self.sms = {(fault["gpc"], fault["client"]) for fault in faults}
        self.first_ns, self.last_ns = self.faults[0]["gpu_ns"], self.faults[-1]["gpu_ns"]

    def __len__(self):
        return len(self.faults)


def batches_of(section):
    """Returns the batches of a section by GPU and number; faults of copy engines are left out."""
    groups = {}
    for fault in rows_of(section.faults):
        if fault["client_type"] != CLIENT_HUB:
            groups.setdefault((fault["gpu"], fault["batch"]), []).append(fault)
    return [Batch(gpu, number, faults) for (gpu, number), faults in sorted(groups.items())]


def replay_times(section):
    """Returns the GPU's time of the last replay of each batch, by GPU and number of the batch."""
    times = {}
    for replay in rows_of(section.replays):
        key = (replay["gpu"], replay["batch"])
        times[key] = max(times.get(key, 0), replay["gpu_ns"])
    return times


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    try:
        for process in read(sys.argv[1]):
            print(f"process {process.head.get('pid')}: {process.head.get('gpu', 'unknown GPU')}, {process.dropped} dropped"
                  f"{'' if process.complete else ', not complete'}")
            for section in process.sections:
                print(f"  {section.name}: {len(section.faults['gpu_ns'])} raw faults, {len(batches_of(section))} batches, "
                      f"{len(section.replays['gpu_ns'])} replays, {len(section.migrations['bytes'])} migrations")
    except LogError as error:
        print(f"raw_faults: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
