#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Logs of the caching allocator for the recipes, without the tracer: allocator_logs.sh FOLDER. With them the layout
# pytorch_caching is compared with the allocator itself. Needs a GPU and PyTorch.
set -uo pipefail
out=$(realpath "${1:?a folder for the logs}")
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
g++ -std=c++20 -O2 -fPIC -shared -I. tracer/torch/check/stub_injection.cpp -o "$work/libstub.so" || exit 1
export CUDA_INJECTION64_PATH="$work/libstub.so" XDG_CACHE_HOME="$work/cache" UVMTRACE_TORCH_MODULES=0
export PYTHONPATH="$PWD/tracer/torch/site" work out
export pack="import lzma, sys; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read()))"  # xz may be missing
one() {  # name, script and options as one line
  local words
  read -ra words <<<"$2"
  mkdir -p "$work/$1"
  if ! {
    UVMTRACE_LOG_DIR="$work/$1" timeout 120 python3 "workloads/recipes/${words[0]}" "${words[@]:1}" &&
      python3 tracer/torch/check/allocator_log.py "$work/$1/stub.jsonl" >"$work/$1.short"
  } >"$work/$1.txt" 2>&1; then
    echo "FAIL: $1"
    tail -20 "$work/$1.txt"
    return 1
  fi
  python3 -c "$pack" <"$work/$1.short" >"$out/$1.txt.xz"
  echo "PASS: $1"
  tail -1 "$work/$1.txt"
}
export -f one
xargs -P 3 -L 1 bash -c 'one "$0" "$*"' <<'END'
resnet101 paper_models.py resnet101 --iterations 3
resnet50 paper_models.py resnet50 --iterations 3
whisper paper_models.py whisper --iterations 3
bert paper_models.py bert --iterations 3
gpt2 paper_models.py gpt2 --iterations 3
alexnet paper_models.py alexnet --iterations 3
dlrm dlrm.py --iterations 3
llm_generate llm.py generate --iterations 6
END
status=$?
ls -l "$out"
exit $status
