#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a trace's peak of live memory with the peak that the program's own allocator reports; they may differ by 5
%.

usage: compare_peak.py STDERR INFO.json     STDERR: contains "peak in use N MiB"; INFO.json: from `uvmsim trace info
--json`
"""
import json
import re
import sys

TOLERANCE = 0.05


def main(stderr, info):
    with open(stderr, encoding="utf-8", errors="replace") as lines:
        peaks = re.findall(r"^peak in use (\d+) MiB$", lines.read(), re.MULTILINE)
    if not peaks:
        sys.exit(f"{stderr}: no line 'peak in use N MiB'")
    allocator = int(peaks[-1]) << 20
    with open(info, encoding="utf-8") as file:
        statistics = json.load(file)
    for what in ("peak_managed_bytes", "touched_footprint_bytes"):
        difference = statistics[what] / allocator - 1
        print(f"{what}: {statistics[what]} bytes, the allocator's peak {allocator}: {100 * difference:+.1f} %")
    outside = abs(statistics["peak_managed_bytes"] / allocator - 1) > TOLERANCE
    print("the peak of live memory is outside of 5 %" if outside else "the peak of live memory is within 5 %")
    return outside


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
