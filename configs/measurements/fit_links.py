#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The link figures and call costs of h200-sxm-pcie5.json, from the tables beside this script.

    ./fit_links.py

A transfer takes latency + bytes / bandwidth. The bandwidth is that of the largest copy; the latency is fitted by least
squares of the relative error, which weighs every size alike. Standard library only; the output is deterministic.
"""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def rows(name, first_words, columns):
    """The numbers of the table that starts with this header line, until a line of another shape."""
    lines = (HERE / name).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().startswith(first_words)) + 1
    table = []
    for line in lines[start:]:
        fields = line.split()
        if len(fields) != columns or not fields[0].replace(".", "").isdigit():
            break
        table.append([float(field) for field in fields])
    return table


def fit_latency(points, bytes_per_us):
    """(bytes, ns) pairs -> ns that, with this bandwidth, minimise the sum of (predicted / measured - 1)^2."""
    weighted = sum((1 - 1000 * size / bytes_per_us / time) / time for size, time in points)
    return weighted / sum(1 / (time * time) for _, time in points)


def show(what, points, bytes_per_us):
    latency = fit_latency(points, bytes_per_us)
    error = max(abs((latency + 1000 * size / bytes_per_us) / time - 1) for size, time in points)
    print(f"  {what:32} {latency:6.0f} ns, largest error {100 * error:4.1f} % over {len(points)} sizes")


copies = rows("costs_h200.txt", "size_kb h2d_GBps", 4)
runs = [line.split() for line in (HERE / "runs_h200.txt").read_text().splitlines()[1:]]
for column, name, direction in ((1, "host_to_device", "htod"), (2, "device_to_host", "dtoh")):
    bytes_per_us = 1000 * copies[-1][column]  # the largest copy, of which the latency is a thousandth
    print(f"{name}: {bytes_per_us:.0f} bytes/us")
    show("explicit copies", [(1024 * row[0], 1024 * row[0] / row[column]) for row in copies], bytes_per_us)
    for run in ("first", "next"):
        points = [(int(r[2]), int(r[4])) for r in runs if r[0] == direction and r[1] == run]
        show(f"the driver's, {run} run of a push", points, bytes_per_us)
print(f"both directions at once: {1000 * copies[-1][3]:.0f} bytes/us")

print("\ncalls (costs_h200.txt)")
calls = rows("costs_h200.txt", "size_kb cudaMalloc", 7)
small = [row for row in calls if row[0] <= 2048]
largest = calls[-1]
mib = largest[0] / 1024


def mean(column):
    return 1000 * sum(row[column] for row in small) / len(small)


print(f"cudaMallocManaged: {mean(3):.0f} ns + {(1000 * largest[3] - mean(3)) / (mib / 1024):.0f} ns per GiB")
print(f"cudaFree, untouched: {mean(4):.0f} ns + {(1000 * largest[4] - mean(4)) / (mib / 1024):.0f} ns per GiB")
slope = (1000 * largest[5] - mean(5)) / (mib - 2)
print(f"cudaFree, populated: {mean(5):.0f} ns (2 MiB and less) + {slope:.0f} ns per further MiB")
print(f"cudaFree of device memory: {mean(2):.0f} ns + {(1000 * largest[2] - mean(2)) / (mib / 1024):.0f} ns per GiB")


def largest_error(fixed, per_gib):
    return max(abs((fixed + per_gib * row[0] / 1048576) / (1000 * row[1]) - 1) for row in calls)


# cudaMalloc is no straight line: the one whose largest error is the least
error, fixed, per_gib = min(
    (largest_error(fixed, per_gib), fixed, per_gib)
    for fixed in range(25000, 40000, 10)
    for per_gib in range(50000, 150000, 1000)
)
print(f"cudaMalloc: {fixed} ns + {per_gib} ns per GiB, largest error {100 * error:.0f} %")

print("\naddress translation at 1980 MHz (tlb_h200.txt): cost over the same lines in few pages")
chase = rows("tlb_h200.txt", "pages", 3)
for row in chase:
    if row[0] in (128, 256, 512, 1024, 2048, 32768, 49152, 65536, 70290):
        print(f"{row[0]:6.0f} pages of 2 MB: {(row[1] - row[2]) / 1.98:5.1f} ns")
reach = 32768
hit = next(row for row in chase if row[0] == reach)
for row in chase:
    if row[0] > reach:
        misses = 1 - reach / row[0]
        print(f"walk, if {100 * misses:.0f} % of {row[0]:.0f} pages miss: {(row[1] - hit[1]) / misses / 1.98:.0f} ns")
