# SPDX-License-Identifier: Apache-2.0
"""Reduces a stub's log to the actions of the caching allocator: allocator_log.py LOG >SHORT

    s SEGMENT BYTES STREAM RANK        a segment was allocated; RANK orders the segments of the log by address
    a TENSOR BYTES STREAM SEGMENT OFFSET
    f TENSOR                           its memory may be reused

Segments and tensors are numbered from 1 in order of appearance, streams from 0. Reads a log that small_training.py
or a recipe wrote under stub_injection.cpp; tests/layout/data/ has some.
"""

import json
import sys


def main():
    with open(sys.argv[1]) as file:
        events = [json.loads(line) for line in file]
    opened = sorted(event["va"] for event in events if event["t"] == "segment_alloc")
    segments, tensors, streams = [], {}, {0: 0}
    tensor_count = 0
    for event in events:
        kind, va = event["t"], event.get("va")
        stream = streams.setdefault(event.get("stream", 0), len(streams))
        if kind == "segment_alloc":
            segments.append((va, event["bytes"]))
            print("s", len(segments), event["bytes"], stream, opened.index(va) + 1)
        elif kind == "segment_free":
            sys.exit("a segment was given back: the log is of no use")
        elif kind == "tensor_alloc":
            tensor_count += 1
            tensors[va] = tensor_count
            inside = (i for i, (start, size) in enumerate(segments, 1) if start <= va < start + size)
            number = next(inside)
            base = segments[number - 1][0]
            print("a", tensor_count, event["bytes"], stream, number, va - base)
        elif kind == "tensor_free_done" and va in tensors:
            print("f", tensors.pop(va))


main()
