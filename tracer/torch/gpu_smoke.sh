#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the PyTorch helper on a machine with a GPU and PyTorch, without the tracer: a stub takes the place of the
# injection library. Then runs every recipe once, untraced, unless called as `gpu_smoke.sh small`. Prints PASS or FAIL
# lines; exit status 1 if anything failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
repository=$PWD
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

report() {  # status, what
  if [[ $1 -eq 0 ]]; then echo "PASS: $2"; else echo "FAIL: $2"; failed=1; fi
}

g++ -std=c++20 -O2 -fPIC -shared -I. tracer/torch/check/stub_injection.cpp -o "$work/libstub.so"
report $? "the stub is built"

observe() {  # name, environment settings..., -- command
  local name=$1
  shift
  mkdir -p "$work/$name"
  local settings=()
  while [[ $1 != -- ]]; do settings+=("$1"); shift; done
  shift
  env CUDA_INJECTION64_PATH="$work/libstub.so" UVMTRACE_LOG_DIR="$work/$name" XDG_CACHE_HOME="$work/cache" \
    PYTHONPATH="$repository/tracer/torch/site${PYTHONPATH:+:$PYTHONPATH}" "${settings[@]}" "$@"
}

small=("$python" tracer/torch/check/small_training.py)
echo "== small training: plain, observed, observed with operators, without the caching allocator"
"${small[@]}" >"$work/plain.txt" 2>"$work/plain.err"
report $? "it runs without the helper"
observe tensors UVMTRACE_SMOKE_FACTS="$work/tensors.json" -- "${small[@]}" >"$work/tensors.txt" 2>"$work/tensors.err"
report $? "it runs with the helper"
cat "$work/plain.err" "$work/tensors.err"
cmp "$work/plain.txt" "$work/tensors.txt"
report $? "its losses are unchanged"
"$python" tracer/torch/check/check_log.py "$work/tensors/stub.jsonl" "$work/tensors.json"
report $? "what was recorded"
observe operators UVMTRACE_SMOKE_FACTS="$work/operators.json" UVMTRACE_TORCH_OPERATORS=1 -- "${small[@]}" \
  >"$work/operators.txt" 2>"$work/operators.err"
report $? "it runs with operators"
cat "$work/operators.err"
cmp "$work/plain.txt" "$work/operators.txt"
report $? "its losses are unchanged with operators"
"$python" tracer/torch/check/check_log.py "$work/operators/stub.jsonl" "$work/operators.json" --operators
report $? "what was recorded with operators"
observe uncached PYTORCH_NO_CUDA_MEMORY_CACHING=1 -- "${small[@]}" >"$work/uncached.txt" 2>"$work/uncached.err"
report $? "it runs without the caching allocator"
cat "$work/uncached.err"
ls -l "$work/cache/uvmtrace"

echo "== no compiler: one line, and the program goes on"
mkdir "$work/empty"
observe compiler XDG_CACHE_HOME="$work/nothing" CXX= PATH="$work/empty" -- "${small[@]}" \
  >"$work/compiler.txt" 2>"$work/compiler.err"
report $? "it runs without a compiler"
cat "$work/compiler.err"
cmp "$work/plain.txt" "$work/compiler.txt"
report $? "its losses are unchanged without a compiler"

if [[ ${1:-} == small ]]; then
  [[ $failed -eq 0 ]] && echo "ALL PASS" || echo "SOME FAILED"
  exit $failed
fi

echo "== recipes, untraced"
cat >"$work/recipes.txt" <<'END'
paper_models.py resnet101 --iterations 2
paper_models.py resnet50 --iterations 2
paper_models.py whisper --iterations 2
paper_models.py bert --iterations 2
paper_models.py gpt2 --iterations 3
paper_models.py alexnet --iterations 2
dlrm.py --iterations 2
llm.py train --iterations 2
llm.py generate --iterations 4
END
run_recipe() {  # script and options, as one line
  local log words
  read -ra words <<<"$1"
  log="$work/recipe.$(echo "$1" | tr -c 'a-z0-9\n' _)"
  local begin=$SECONDS
  (cd "$repository/workloads/recipes" && timeout 150 "$python" "${words[@]}") >"$log" 2>&1
  local status=$?
  echo "-- $1 ($((SECONDS - begin)) s)" >"$log.out"
  if [[ $status -eq 0 ]]; then echo "PASS: $1"; tail -12 "$log"; else echo "FAIL: $1"; tail -40 "$log"; fi >>"$log.out"
  cat "$log.out"
  return $status
}
export -f run_recipe
export work repository python
xargs -P 3 -I{} bash -c 'run_recipe "{}"' <"$work/recipes.txt" || failed=1

echo "== GPT-2 observed: what the helper costs"
for name in modules operators; do
  [[ $name == operators ]] && operators=1 || operators=0
  observe "gpt2_$name" UVMTRACE_TORCH_OPERATORS=$operators -- "$python" workloads/recipes/paper_models.py gpt2 --iterations 3
  report $? "GPT-2 observed, $name"
  wc -lc <"$work/gpt2_$name/stub.jsonl"
  grep -c '"t":"iteration"' "$work/gpt2_$name/stub.jsonl"
done

echo "== CUDA recipes"
for name in pagerank bfs stencil3d tiled_matmul; do
  (nvcc -O3 -std=c++17 -arch=native -o "$work/$name" "workloads/recipes/$name.cu" || echo "FAIL: nvcc $name.cu") &
done
wait
for name in pagerank bfs stencil3d tiled_matmul; do
  begin=$SECONDS
  timeout 60 "$work/$name"
  report $? "$name ($((SECONDS - begin)) s)"
done
[[ $failed -eq 0 ]] && echo "ALL PASS" || echo "SOME FAILED"
exit $failed
