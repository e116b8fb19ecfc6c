#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the access pass against the real Sanitizer API, runs the kernels with known answers under it, compares, and
# measures what recording costs the named models of workloads/recipes. For a machine with a GPU and the CUDA toolkit;
# two minutes with two models.
# usage: tracer/access/gpu_smoke.sh [OUTPUT_FOLDER [MODEL...]]   for instance: gpu_smoke.sh /tmp/smoke gpt2 resnet50
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out="${1:-$(mktemp -d)}"
build=build/tracer-gpu
mkdir -p "$out"

echo "== machine"
nvidia-smi --query-gpu=name,driver_version,memory.free --format=csv,noheader
nvcc --version | tail -2 | head -1
g++ --version | head -1

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
  grep -o '"t":"[a-z_]*"' "$recorded" | sort | uniq -c | tr '\n' ' '; echo
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

echo "== PyTorch: a graph, a profiler that wants CUPTI too, threads, a killed program"
if python3 -c "import torch" 2>/dev/null; then
  for program in graph profiler threads endless; do
    log="$out/torch_$program"; rm -rf "$log"; mkdir -p "$log"
    limit=60; [[ $program == endless ]] && limit=12
    [[ $program != endless ]] && timeout 60 python3 tracer/access/gpu_smoke_torch.py "$program"
    env UVMTRACE_LOG_DIR="$log" CUDA_INJECTION64_PATH="$library" timeout -s KILL "$limit" \
      python3 tracer/access/gpu_smoke_torch.py "$program" 2>"$log/err"
    echo "$program: exit status $?"
    grep -hE "uvmtrace|rror" "$log/err" | head -3
    python3 tracer/access/log_summary.py "$log"/access.*.jsonl || failed=1
  done
fi

echo "== cost of training iterations (the third one)"
if python3 -c "import torch, torchvision, transformers" 2>/dev/null; then
  for model in "${@:2}"; do
    for pass in native access; do
      log="$out/${model}_$pass"; rm -rf "$log"; mkdir -p "$log"
      environment=(UVMTRACE_LOG_DIR="$log")
      [[ $pass == access ]] && environment+=(CUDA_INJECTION64_PATH="$library")
      begin=$SECONDS
      env "${environment[@]}" timeout 200 python3 workloads/recipes/paper_models.py "$model" >"$log/out" 2>"$log/err"
      echo "$model $pass: exit status $?, $((SECONDS - begin)) s, $(grep -h took "$log/err" | tail -1)"
      grep -h uvmtrace: "$log/err" | head -5
    done
    cmp "$out/${model}_native/out" "$out/${model}_access/out" && echo "$model: the same output"
    recorded="$(ls "$out/${model}_access"/access.*.jsonl 2>/dev/null | head -1)"
    if [[ -n "$recorded" ]]; then
      ls -l "$recorded" | awk '{print "log bytes", $5}'
      python3 tracer/access/log_summary.py "$recorded"
      gzip -1 <"$recorded" >"$out/${model}_access.jsonl.gz"
      rm "$recorded"
    else
      failed=1
    fi
  done
else
  echo "no torch with torchvision and transformers here"
fi
[[ $failed == 0 ]] && echo "PASS" || echo "FAIL"
exit $failed
