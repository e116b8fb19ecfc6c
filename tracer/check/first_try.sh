#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records what people train and serve with, each program once, with the command that a user would type, and compares its
# exit code and output with those of an untraced run. For a machine with a GPU, the CUDA toolkit, PyTorch and JAX, where
# uvmtrace and uvmsim are on the PATH and UVMTRACE_LIBRARY_DIR is set (tracer/README.md); some seven minutes.
# usage: tracer/check/first_try.sh FOLDER [NAME...]     keeps the traces in FOLDER
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tracer/check/machine.sh
repository="$PWD"
folder="${1:?usage: first_try.sh FOLDER [NAME...]}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
shift
only=("$@")
failed=0

try() {  # name, options of record --, program
  local name="$1" options=()
  shift
  while [[ "$1" != -- ]]; do options+=("$1"); shift; done
  shift
  [[ ${#only[@]} == 0 || " ${only[*]} " == *" $name "* ]] || return 0
  local place="$folder/$name" begin="$SECONDS" status native
  echo
  echo "== $name: uvmtrace record ${options[*]} -o $name.uvmt -- ${*//"$repository/"/}"
  (cd "$repository/workloads/recipes" && "$@") >"$place.native" 2>"$place.native.err"
  native=$?
  echo "untraced: exit code $native, $((SECONDS - begin)) s"
  begin="$SECONDS"
  (cd "$repository/workloads/recipes" && uvmtrace record "${options[@]}" -o "$place.uvmt" -- "$@") >"$place.out" 2>"$place.err"
  status=$?
  echo "recorded: exit code $status, $((SECONDS - begin)) s"
  if [[ $status != "$native" ]] || ! cmp -s "$place.native" "$place.out"; then
    echo "FAIL: exit code or output differ"
    diff "$place.native" "$place.out" | head -5
    grep uvmtrace "$place.err" | tail -5
    failed=1
  fi
  local traces=("$place"*.uvmt)  # of --processes all one each
  [[ -f "${traces[0]}" ]] || { echo "FAIL: no trace"; grep uvmtrace "$place.err" | tail -5; failed=1; return; }
  for trace in "${traces[@]}"; do
    uvmtrace info "$trace" || failed=1
    # Whatever GPU a process ran on, its trace replays on any one.
    uvmsim run "$trace" --system h100-sxm --osf 1 >"$place.run" || { echo "FAIL: it does not replay"; failed=1; }
    grep -E '^(time|slowdown against all)' "$place.run"
  done
}

machine
gpt=(python3 gpt_compiled.py)
try gpt_compiled --torch --torch-operators -- "${gpt[@]}"
try gpt_compiled_plain -- "${gpt[@]}"
try gpt_eager --torch --torch-operators -- "${gpt[@]}" --eager
# XLA chooses by timing, so that two runs that compile differ: both take what the untraced one has compiled. And sums by
# atomic operations, as in the embedding's gradient, differ between any two runs.
export JAX_COMPILATION_CACHE_DIR="$folder/jax_cache" JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0
export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1 XLA_FLAGS=--xla_gpu_deterministic_ops=true
try jax_products -- python3 "$repository/tracer/check/jax_products.py"
try jax_training -- python3 jax_training.py
if [[ -f "$folder/jax_training.uvmt" ]]; then
  # What the program's own allocator says it had in use at most, against the trace's memory.
  python3 tracer/check/compare_peak.py "$folder/jax_training.err" <(uvmsim trace info --json "$folder/jax_training.uvmt") ||
    failed=1
fi
try unet --torch --torch-operators -- python3 unet.py
try moe_generate --torch --torch-operators -- python3 moe_generate.py
try ddp --torch --processes all -- torchrun --nproc_per_node 2 "$repository/tracer/check/ddp_training.py"
echo
[[ $failed == 0 ]] && echo PASS || echo FAIL
exit $failed
