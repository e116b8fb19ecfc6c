#!/usr/bin/env bash
# Builds the access pass against the real Sanitizer API, runs the kernels with known answers under it, compares, and
# measures what a small training step costs. For a machine with a GPU and the CUDA toolkit; about two minutes.
# usage: tracer/access/gpu_smoke.sh [output folder]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out="${1:-$(mktemp -d)}"
build=build/tracer-gpu
mkdir -p "$out"
api=/usr/local/cuda/compute-sanitizer/include

echo "== machine"
nvidia-smi --query-gpu=name,driver_version,memory.free --format=csv,noheader
nvcc --version | tail -2 | head -1
g++ --version | head -1

echo "== what the headers say (declarations only)"
ls "$api" 2>/dev/null | tr '\n' ' '; echo
grep -hE "^#define SANITIZER.*VERSION|TMA_(LOAD|STORE) *=|BULK_[A-Z_]+ *=|MEMCPY_ASYNC *=|DEVICE_SIDE_MALLOC *=|GLOBAL_MEMORY_ACCESS *=" \
  "$api"/*.h 2>/dev/null | head -30
grep -hE -A6 "\*SanitizerCallback(BulkCopy|BulkReduction|MemcpyAsync\)|DeviceSideMalloc)" "$api"/sanitizer_patching.h \
  2>/dev/null | grep -vE "^ ?\*|^/\*" | tr -s ' \n' ' ' | head -c 2500; echo

echo "== build"
cmake -S tracer -B "$build" >"$out/cmake.txt" 2>&1 || { cat "$out/cmake.txt"; echo "FAIL: cmake"; exit 1; }
grep -i uvmtrace "$out/cmake.txt"
targets=(uvmtrace_access uvmtrace_known_answers)
if ! cmake --build "$build" -j 16 --target "${targets[@]}" >"$out/build.txt" 2>&1; then
  grep -E "error|Error|fatal" -A4 "$out/build.txt" | head -60
  echo "FAIL: build"
  exit 1
fi
grep -iE "warning" -A3 "$out/build.txt" | head -20
library="$PWD/$(find "$build" -name 'libuvmtrace_access.so' | head -1)"
program="$PWD/$(find "$build" -name known_answers -type f | head -1)"
ls -l "$library" "$program"

failed=0
known_answers() {  # name, then the environment
  local name="$1"; shift
  local log="$out/$name"
  rm -rf "$log"; mkdir -p "$log"
  echo "== known answers: $name $*"
  env "$@" UVMTRACE_LOG_DIR="$log" CUDA_INJECTION64_PATH="$library" timeout 60 "$program" "$log/expected.jsonl"
  echo "exit status $?"
  local recorded; recorded="$(ls "$log"/access.*.jsonl 2>/dev/null | head -1)"
  if [[ -z "$recorded" ]]; then echo "no log"; failed=1; return; fi
  python3 tracer/check/check_answers.py "$log/expected.jsonl" "$recorded" || failed=1
  head -c 1500 "$recorded" | cut -c 1-400
  grep -o '"t":"[a-z_]*"' "$recorded" | sort | uniq -c | tr '\n' ' '; echo
  grep '"kind":"module"' "$recorded" | head -5
}

"$program" "$out/native.jsonl" && echo "native run: fine"
known_answers plain
known_answers extras UVMTRACE_ORDER=1 UVMTRACE_COUNTS=1 UVMTRACE_PHASES=7

echo "== refusals"
mkdir -p "$out/refused"
for environment in UVMTRACE_SANITIZER_LIBRARY=/nowhere.so UVMTRACE_LOG_DIR=/nowhere UVMTRACE_LOG_DIR=/dev/full; do
  env UVMTRACE_LOG_DIR="$out/refused" "$environment" CUDA_INJECTION64_PATH="$library" timeout 60 "$program" \
    "$out/refused/expected.jsonl"
  echo "$environment: exit status $?"
done

echo "== cost of a training step"
if python3 -c "import torch, transformers" 2>/dev/null; then
  for pass in native access window; do
    log="$out/torch_$pass"; rm -rf "$log"; mkdir -p "$log"
    environment=(UVMTRACE_LOG_DIR="$log")
    [[ $pass != native ]] && environment+=(CUDA_INJECTION64_PATH="$library")
    [[ $pass == window ]] && environment+=(UVMTRACE_WINDOW=profiler)
    env "${environment[@]}" timeout 90 python3 tracer/access/gpu_smoke_step.py "$pass"
    echo "$pass: exit status $?"
    for recorded in "$log"/access.*.jsonl; do
      [[ -f "$recorded" ]] || continue
      ls -l "$recorded" | awk '{print "log bytes", $5}'
      python3 tracer/access/log_summary.py "$recorded"
    done
  done
else
  echo "no torch with transformers here"
fi
[[ $failed == 0 ]] && echo "PASS" || echo "FAIL"
exit $failed
