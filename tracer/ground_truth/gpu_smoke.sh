#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds uvm_experiments on a GPU machine, runs everything it has, checks the result. About a minute; needs nvcc, CUPTI,
# CMake and Python, nothing else. Exit code 0: all is well.
#
#   tracer/ground_truth/gpu_smoke.sh [FOLDER]     results go to FOLDER, else to $OUT, else to build/ground_truth
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder="${1:-${OUT:-build/ground_truth}}"
build=build/tracer_gpu
mkdir -p "$folder"

step() { echo "== $* ($(date +%T))"; }

step "building"
cmake -S tracer -B "$build" -DCMAKE_BUILD_TYPE=Release >"$folder/build.log" 2>&1 &&
  cmake --build "$build" --target uvm_experiments -j "$(nproc)" >>"$folder/build.log" 2>&1 ||
  { tail -n 40 "$folder/build.log"; exit 1; }
program="$build/ground_truth/uvm_experiments"
nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used --format=csv,noheader || true

step "what must be refused"
for wrong in "--share 51 --output $folder/never.jsonl" "--output a --costs b" "--nothing" \
  "--oversubscribe --output $folder/never.jsonl" "--oversubscribe --i-know-this-can-hang-the-gpu --list"; do
  # shellcheck disable=SC2086
  if "$program" $wrong; then
    echo "accepted: $wrong"
    exit 1
  fi
done

failed=0
step "a tenth of the experiments"
timeout 40 "$program" --quick --output "$folder/quick.jsonl" || failed=1
[[ -f "$folder/quick.jsonl" ]] && { python3 tracer/ground_truth/check_experiments.py "$folder/quick.jsonl" || failed=1; }
rm -f "$folder/quick.jsonl"

step "all experiments, twice"
timeout 80 "$program" --repeats 2 --output "$folder/experiments.jsonl" || failed=1
[[ -f "$folder/experiments.jsonl" ]] &&
  { python3 tracer/ground_truth/check_experiments.py "$folder/experiments.jsonl" || failed=1; }

step "costs"
timeout 40 "$program" --costs "$folder/costs.txt" || failed=1
cat "$folder/costs.txt" || true

step "compressing"
if [[ -f "$folder/experiments.jsonl" ]]; then
  if command -v zstd >/dev/null; then
    zstd -q -19 --rm -f "$folder/experiments.jsonl"
  else
    gzip -9 -f "$folder/experiments.jsonl"
  fi
fi
ls -l "$folder"
if ((failed)); then
  echo "gpu_smoke: something failed, see above"
  exit 1
fi
echo "gpu_smoke: all is well"
