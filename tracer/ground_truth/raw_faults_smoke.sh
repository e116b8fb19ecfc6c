#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the recorder of raw faults and its experiments on a GPU machine, runs them and a small program, prints summaries
# and the GPU's constants. Two minutes; needs nvcc, CUPTI, CMake and Python. UVMTRACE names the command, which is built
# elsewhere (tracer/cli/build_portable.sh); without it the library alone is tried. Exit code 0: all is well.
#
#   tracer/ground_truth/raw_faults_smoke.sh [FOLDER]     results go to FOLDER, else to $OUT, else to build/raw_faults
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder="${1:-${OUT:-build/raw_faults}}"
build=build/tracer_gpu
mkdir -p "$folder"
export PATH="$PATH:/usr/local/cuda/bin"

step() { echo "== $* ($(date +%T))"; }

step "building"
cmake -S tracer -B "$build" -DCMAKE_BUILD_TYPE=Release >"$folder/build.log" 2>&1 &&
  cmake --build "$build" --target uvm_experiments uvmtrace_faults -j "$(nproc)" >>"$folder/build.log" 2>&1 ||
  { tail -n 60 "$folder/build.log"; exit 1; }
nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used --format=csv,noheader || true
ls -l /dev/nvidia-uvm-tools || true
failed=0

step "all experiments"
timeout 200 "$build/ground_truth/uvm_experiments" --raw-faults "$folder/experiments.faults" || failed=1

step "constants"
python3 tracer/ground_truth/fault_constants.py "$folder/experiments.faults" --topology | tee "$folder/constants.txt" || failed=1

step "a small program under the recorder"
nvcc -O3 -std=c++17 -arch=native -o "$build/demo" tracer/ground_truth/raw_faults_demo.cu || failed=1
export UVMTRACE_LIBRARY_DIR="$PWD/$build"
if [[ -n "${UVMTRACE:-}" ]] && "$UVMTRACE" --version; then
  timeout 100 "$UVMTRACE" faults -o "$folder/demo.faults.zst" -- "$build/demo" || failed=1
  "$UVMTRACE" faults --show "$folder/demo.faults.zst" || failed=1
  "$UVMTRACE" faults --show "$folder/experiments.faults" >"$folder/experiments.txt" || failed=1
  "$UVMTRACE" faults -o "$folder/never.faults.zst" -- ls >/dev/null && failed=1
fi
mkdir -p "$folder/alone"
CUDA_INJECTION64_PATH="$PWD/$build/faults/libuvmtrace_faults.so" UVMTRACE_LOG_DIR="$folder/alone" \
  timeout 100 "$build/demo" || failed=1
for log in "$folder"/alone/*.log; do python3 tracer/faults/raw_faults.py "$log" || failed=1; done
rm -rf "$folder/alone"

step "compressing"
if command -v zstd >/dev/null; then
  zstd -q -19 -T0 --rm -f "$folder/experiments.faults"
else
  gzip -9 -f "$folder/experiments.faults"
fi
ls -l "$folder"
if ((failed)); then
  echo "raw_faults_smoke: something failed, see above"
  exit 1
fi
echo "raw_faults_smoke: all is well"
