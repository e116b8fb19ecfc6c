#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs recipes plainly and observed with operators under the stub, and compares what they print: observed_recipes.sh
# [PATTERN], of the recipes whose command matches. Needs a GPU and PyTorch.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
g++ -std=c++20 -O2 -fPIC -shared -I. tracer/torch/check/stub_injection.cpp -o "$work/libstub.so" || exit 1
export work
one() {  # script and options
  local name command=(timeout 120 python3 "workloads/recipes/$1" "${@:2}")
  name=$(echo "$*" | tr -c 'a-z0-9\n' _)
  mkdir -p "$work/$name"
  "${command[@]}" >"$work/$name.plain" 2>"$work/$name.plain.err" || tail -20 "$work/$name.plain.err"
  CUDA_INJECTION64_PATH="$work/libstub.so" XDG_CACHE_HOME="$work/cache" PYTHONPATH="$PWD/tracer/torch/site" \
    UVMTRACE_LOG_DIR="$work/$name" UVMTRACE_TORCH_OPERATORS=1 "${command[@]}" \
    >"$work/$name.observed" 2>"$work/$name.observed.err" || tail -20 "$work/$name.observed.err"
  {
    if [[ -s "$work/$name.plain" ]] && cmp -s "$work/$name.plain" "$work/$name.observed"; then
      echo "PASS: $* prints the same"
    else
      echo "DIFFERS: $*"
      diff "$work/$name.plain" "$work/$name.observed"
    fi
    paste <(grep took "$work/$name.plain.err") <(grep took "$work/$name.observed.err")
    grep peak "$work/$name.plain.err" "$work/$name.observed.err" | sed 's/.*peak/peak/'
    grep -h uvmtrace "$work/$name.observed.err"
    python3 tracer/torch/check/operator_summary.py "$work/$name/stub.jsonl"
  } >"$work/$name.report" 2>&1
  cat "$work/$name.report"
}
export -f one
grep -e "${1:-.}" <<'END' | xargs -P 3 -L 1 bash -c 'one "$0" "$@"'
llm.py train
paper_models.py gpt2
llm.py generate --iterations 4
dlrm.py
paper_models.py alexnet
paper_models.py whisper
paper_models.py bert
paper_models.py resnet50
END
