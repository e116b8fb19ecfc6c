#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which blocks of each SM raised its first fault, from the raw faults of single PyTorch calls alone: nothing is
simulated.

    first_blocks.py DATA

DATA: the folder with h200_library_dev.npz (as for compare_faults.py). For calls of one kernel whose inputs are on the
GPU and whose outputs are new: the blocks that an SM holds, the kernel's duration over the time that its bytes take of
4.8 TB/s, and quartiles of the place among its SM's blocks that the first block to fault has: 0.5 is the middle of the
SMs' first blocks. It supposes that blocks store in the order of their numbers, which batch norm and matrix products do
not. Exit status 2 if a file is missing or damaged.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import zipfile

try:
    import numpy
except ImportError:
    sys.exit("first_blocks.py: this Python has no numpy; the distribution's python3-numpy is for /usr/bin/python3")

FOLDER = os.path.dirname(os.path.abspath(__file__))
SMS, WARP, BYTES_PER_NS = 132, 32, 4800
REGISTERS, SHARED_BYTES, SHARED_BYTES_OF_SYSTEM, THREADS, BLOCKS = 65536, 233472, 1024, 2048, 32


def durations():
    """Returns by name of the call what its kernel takes without faults, in ns."""
    found = {}
    for name in ("raw_calls_h200", "library_classes_h200", "two_part_calls_h200"):
        path = os.path.join(FOLDER, "data", f"{name}.jsonl.zst")
        for line in subprocess.run(["zstd", "-dcq", path], capture_output=True, text=True, check=True).stdout.splitlines():
            call = json.loads(line)
            kernels = [event for event in call["events"] if isinstance(event, dict) and "kernel" in event]
            if len(kernels) == 1:
                found.setdefault(call["name"], []).append(kernels[0]["native_ns"])
    return {name: statistics.median(times) for name, times in found.items()}


def blocks_per_sm(kernel, threads):
    warps = -(-threads // WARP)
    registers = -(-kernel["registers"] * WARP // 256) * 256 * warps
    shared = kernel["shared_bytes"] + SHARED_BYTES_OF_SYSTEM
    return max(1, min(BLOCKS, THREADS // (warps * WARP), REGISTERS // registers, SHARED_BYTES // shared))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA")
    path = os.path.join(parser.parse_args().data, "h200_library_dev.npz")
    native = durations()
    rows = []
    with numpy.load(path) as data:
        for i, head in enumerate(json.loads(str(data["heads"]))):
            faults = data[f"f{i}"]
            known = (head["inputs_on"], head["outputs_on"]) == ("gpu", "nowhere") and head["name"] in native
            if not known or len(head["kernels"]) != 1 or len(faults) == 0:
                continue
            kernel = head["kernels"][0]
            grid, threads = int(numpy.prod(kernel["grid"])), int(numpy.prod(kernel["block"]))
            ranges = [span for span, tensor in zip(head["ranges"], head["tensors"]) if tensor["role"] == "output"]
            begin, size = max(ranges, key=lambda span: span[1])
            first = faults[(faults["batch"] == faults["batch"][0]) & (faults["addr"] >= begin) &
                           (faults["addr"] < begin + size)]
            if len(first) < 20:
                continue
            sm = first["gpc"].astype(int) * 1000 + first["client"]
            place = (first["addr"] - begin)[numpy.unique(sm, return_index=True)[1]] * grid / size / SMS
            resident = min(blocks_per_sm(kernel, threads), -(-grid // SMS))
            ratio = native[head["name"]] * BYTES_PER_NS / sum(span[1] for span in head["ranges"])
            rows.append((ratio, head["name"], resident, *numpy.percentile(place, (25, 50, 75))))
    print(f"{'call':36} blocks per SM   time / bytes   place of the first to fault: 25, 50, 75 %")
    for ratio, name, resident, *places in sorted(rows):
        print(f"{name:36} {resident:13} {ratio:14.2f}   " + " ".join(f"{place:5.1f}" for place in places))
    print(f"{len(rows)} calls")


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, subprocess.CalledProcessError) as error:
        print(f"first_blocks.py: error: {error}", file=sys.stderr)
        sys.exit(2)
