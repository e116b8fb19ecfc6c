#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU: runs recipes under the memory pass and leaves their logs, and what PyTorch's programs say of
# themselves, in OUT. `uvmtrace log OUT/NAME/memory.*.jsonl` sums a log up.
#
#   tracer/check/memory.sh OUT NAME...     NAME: a program of euromlsys25, or another recipe without its ending
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tracer/check/machine.sh
export PATH="${CUDA_HOME:-/usr/local/cuda}/bin:$PATH"
out="$(mkdir -p "$1" && cd "$1" && pwd)"
cmake -S tracer -B build/tracer >/dev/null
cmake --build build/tracer -j "$(nproc)" --target uvmtrace_memory >/dev/null
machine >"$out/machine.txt"
memory="$PWD/build/tracer/memory/libuvmtrace_memory.so"
export PYTHONPATH="$PWD/tracer/torch/site:$PWD/workloads/recipes"
cd workloads/recipes
measured() {  # measured COMMAND...: the log lands in $log_folder
  UVMTRACE_LOG_DIR="$log_folder" CUDA_INJECTION64_PATH="$memory" "$@" >"$log_folder/printed.txt" 2>&1
}
for name in "${@:2}"; do
  log_folder="$out/$name"
  mkdir -p "$log_folder"
  echo "$name"
  if [[ -f "euromlsys25/$name.py" || "$name" == resnet* ]]; then
    measured python3 -m euromlsys25 "$name" --memory "$log_folder/memory.json"
    # Without the pass: what it adds itself.
    python3 -m euromlsys25 "$name" --memory "$log_folder/memory_alone.json" >/dev/null 2>&1
  elif [[ -f "$name.cu" ]]; then
    nvcc -O3 -std=c++17 -arch=native -o "$log_folder/program" "$name.cu"
    measured "$log_folder/program"
    rm "$log_folder/program"
  elif [[ "$name" == jax_training ]]; then
    # The settings that `uvmtrace record` makes for JAX.
    export XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async XLA_PYTHON_CLIENT_PREALLOCATE=false
    export XLA_FLAGS=--xla_gpu_autotune_level=0 UVMTRACE_TORCH=0
    measured python3 "$name.py"
    unset XLA_PYTHON_CLIENT_ALLOCATOR XLA_PYTHON_CLIENT_PREALLOCATE XLA_FLAGS UVMTRACE_TORCH
  else
    measured python3 "$name.py"
  fi
done
