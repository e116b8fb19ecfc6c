#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a log of `uvm_experiments --raw-faults` into lines for `uvmsim validate`: the contents of the fault batches.

    raw_lines.py LOG > lines.jsonl
    raw_lines.py --calls CALLS.jsonl LOG > lines.jsonl
    uvmsim validate lines.jsonl --system h200-sxm-pcie5

A line has the batches and copies as CUPTI would report them, and `raw`: the number of raw faults, and the medians
per batch of raw faults, distinct pages, distinct SMs and the GPU time from the first raw fault to the last. A pattern's
line also has the order in which pages were first raised, batch by batch. Times are those of the observed run. Of the
patterns, grid-stride loops and lanes on separate pages have a mode in the format (stream_rd, stream_wr, parallelN); the
others, and sections that dropped events, are left out and counted on standard error. --calls: LOG is a log of
`uvmtrace faults` of a run of library_calls.py, which wrote CALLS.jsonl; its lines are printed again with `raw`, or
unchanged if LOG has no section for them. Exit status 2: the file is not such a log.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
import raw_faults  # noqa: E402

PAGE, BLOCK = 4096, 2 << 20


def median(values):
    """Returns the median as `uvmsim validate` defines it: of an even number of values the mean of the middle two,
    rounded down."""
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) // 2


def mode_of(head):
    """Returns the mode of the line with its keys; nothing if the format has none."""
    write = head["write"]
    if head["pattern"] == "loop":
        return {"mode": "stream_wr" if write else "stream_rd", "touches": [], "loop_threads": head["threads"],
                "access_bytes": head["access_bytes"]}
    if head["pattern"] == "lanes" and head["pitch"] > 0 and head["pitch"] % PAGE == 0:
        threads = head["grid"] * head["threads"]
        return {"mode": f"parallel{head['threads']}",
                "touches": [[i * head["pitch"] // PAGE, "w" if write else "r"] for i in range(threads)]}
    return None


def contents_of(batches):
    return {"raw_faults": sum(len(batch) for batch in batches),
            "raw_faults_per_batch": median([len(batch) for batch in batches]),
            "pages_per_batch": median([len(batch.pages) for batch in batches]),
            "sms_per_batch": median([len(batch.sms) for batch in batches]),
            "raising_ns_per_batch": median([batch.last_ns - batch.first_ns for batch in batches])}


def page_order(batches, base, size):
    """By batch, the pages of the allocation whose first raw fault it holds, in the order of these raw faults."""
    seen, order = set(), []
    for batch in sorted(batches, key=lambda batch: batch.number):
        pages = []
        for fault in batch.faults:
            page = (fault["address"] - base) // PAGE
            if 0 <= fault["address"] - base < size and page not in seen:
                seen.add(page)
                pages.append(page)
        order.append(pages)
    return order


def line_of(path, section):
    head = section.head
    for key in ("pattern", "place", "write", "grid", "threads", "access_bytes", "pitch", "address", "bytes"):
        if key not in head:
            raise raw_faults.LogError(f"{path}: section '{section.name}' has no '{key}'; is this a log of uvm_experiments --raw-faults?")
    mode = mode_of(head)
    batches = raw_faults.batches_of(section)
    if mode is None or not batches or section.dropped:
        return None
    base, size = head["address"], head["bytes"]
    replays = raw_faults.replay_times(section)
    begin = min(section.blocks["begin_ns"])
    end = max([*section.blocks["end_ns"], *replays.values()])  # a block does not wait for its last stores
    events = [["kernel", 0, end - begin, 0, 0, 0]]
    for batch in batches:
        replay = replays.get((batch.gpu, batch.number), batch.last_ns)
        events.append(["gpu_fault", batch.first_ns - begin, max(replay, batch.first_ns) - begin,
                       min(batch.pages) * PAGE - base, len(batch), 0])
    for copy in raw_faults.rows_of(section.migrations):
        if copy["destination"] != raw_faults.HOST and base <= copy["address"] < base + size:
            first = max(copy["gpu_begin_ns"], begin)
            events.append(["htod", first - begin, max(copy["gpu_end_ns"], first) - begin, copy["address"] - base, copy["bytes"],
                           copy["cause"]])
    return {"name": section.name, "bytes": size, "va_offset_in_2m": base % BLOCK, "advise": "none",
            "host_populated": [[0, size]] if head["place"] == "host" else [], "gpu_resident": [], **mode,
            "raw": {**contents_of(batches), "page_order": page_order(batches, base, size)},
            "events": sorted(events, key=lambda event: event[1])}


def with_contents(calls, path):
    """Prints the lines of library_calls.py, each with `raw` if its section is in the log."""
    found = {}
    for process in raw_faults.read(path):
        for section in process.sections:
            batches = raw_faults.batches_of(section)
            if batches and not section.dropped:
                found[section.name] = contents_of(batches)
    written = given = 0
    try:
        with open(calls, encoding="utf-8") as file:
            for text in file:
                line = json.loads(text)
                raw = found.get(f"{line['name']}|{line['inputs_on']}|{line['outputs_on']}")
                written += 1
                if raw is not None:
                    given += 1
                    events = line.pop("events", None)  # the key stays the last one
                    line["raw"] = raw
                    if events is not None:
                        line["events"] = events
                print(json.dumps(line, separators=(",", ":")))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise raw_faults.LogError(f"{calls}: is not a file of library_calls.py: {error}") from error
    print(f"raw_lines: {given} of {written} calls have raw faults", file=sys.stderr)
    return 0


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--calls":
        return with_contents(sys.argv[2], sys.argv[3])
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    written = left_out = 0
    for process in raw_faults.read(sys.argv[1]):
        for section in process.sections:
            line = line_of(sys.argv[1], section)
            if line is None:
                left_out += 1
            else:
                written += 1
                print(json.dumps(line, separators=(",", ":")))
    print(f"raw_lines: {written} experiments, {left_out} left out", file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except raw_faults.LogError as error:
        print(f"raw_lines: error: {error}", file=sys.stderr)
        sys.exit(2)
