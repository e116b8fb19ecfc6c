#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints one table of all benchmarks: name, time of one run, and its counters (rates end in /s).
# Usage: table.sh PROGRAM...   Time and repetition: pass Google Benchmark's options in BENCH_OPTIONS.
set -euo pipefail
for program in "$@"; do
  # shellcheck disable=SC2086
  "$program" --benchmark_format=json ${BENCH_OPTIONS:-} 2>/dev/null
done | python3 -c '
import json, sys

def short(value):
    for scale, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= scale:
            return f"{value / scale:.3g}{unit}"
    return f"{value:.3g} "

known = {"iterations", "real_time", "cpu_time", "time_unit", "repetitions", "repetition_index", "threads", "run_name",
         "run_type", "name", "family_index", "per_family_instance_index"}
print("%-32s %12s  %s" % ("benchmark", "CPU time", "counters"))
text = sys.stdin.read()
while text.strip():
    report, end = json.JSONDecoder().raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    for row in report["benchmarks"]:
        counters = "  ".join(short(value) + key for key, value in row.items() if key not in known)
        print("%-32s %12s  %s" % (row["name"], "%.1f %s" % (row["cpu_time"], row["time_unit"]), counters))
'
