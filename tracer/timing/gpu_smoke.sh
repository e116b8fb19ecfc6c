#!/usr/bin/env bash
# On a machine with a GPU: builds the timing pass, runs smoke.cu under it and says PASS or FAIL for every kind of event.
# Needs the CUDA toolkit, a C++ compiler, CMake and python3. Exit status 0 when everything passed.
# Usage: tracer/timing/gpu_smoke.sh [build folder]        the log stays in <build folder>/smoke
set -u
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
build="${1:-$root/build/tracer-gpu}"
cuda="${CUDA_HOME:-/usr/local/cuda}"
export PATH="$cuda/bin:$PATH"
logs="$build/smoke"
rm -rf "$logs" && mkdir -p "$logs" || exit 1

cmake -S "$root/tracer" -B "$build" >"$logs/configure.txt" 2>&1 || { cat "$logs/configure.txt"; exit 1; }
cmake --build "$build" --target uvmtrace_timing -j8 >"$logs/build.txt" 2>&1 || { tail -40 "$logs/build.txt"; exit 1; }
nvcc -std=c++17 -O1 -arch=native -o "$logs/smoke" "$root/tracer/timing/smoke.cu" -lcuda -L"$cuda/lib64/stubs" || exit 1

library="$(find "$build" -name libuvmtrace_timing.so | head -1)"
echo "== natively"
"$logs/smoke" || { echo "FAIL the program fails without the library"; exit 1; }
echo "== under $library"
UVMTRACE_LOG_DIR="$logs" CUDA_INJECTION64_PATH="$library" NVTX_INJECTION64_PATH="$library" "$logs/smoke"
status=$?
echo "exit status $status"
log="$(ls "$logs"/timing.*.jsonl 2>/dev/null | head -1)"
[ -n "$log" ] || { echo "FAIL no log"; exit 1; }
python3 "$root/tracer/timing/check_smoke.py" "$log"
failed=$?

echo "== without a log folder: one line, and the program goes on"
CUDA_INJECTION64_PATH="$library" "$logs/smoke" || failed=1
echo "== a killed program leaves whole lines"
mkdir -p "$logs/killed"
UVMTRACE_LOG_DIR="$logs/killed" CUDA_INJECTION64_PATH="$library" bash -c '
  "$0" & child=$!; sleep 1.5; kill -9 $child 2>/dev/null; wait $child 2>/dev/null; true' "$logs/smoke"
wc -l "$logs"/killed/*.jsonl
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ]
