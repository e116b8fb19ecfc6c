#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the same commands with several builds of uvmsim and compares every byte they write.
# usage: run.sh COMMAND
# The other builds are named in UVMSIM_OTHER_COMMANDS, separated by spaces, relative to the top folder (see test.sh). Where
# there is none, COMMAND is compared with itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
repository="$PWD"
read -r -a others <<<"${UVMSIM_OTHER_COMMANDS:-}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# Everything is written with relative names, so that no path differs between the builds.
produce() {
  local uvmsim="$1" status=0
  local h200=(--system h200-sxm-pcie5 --prefetch tree --evict lrm)
  # Short ones: a build with sanitizers and without optimisation takes a hundred times as long.
  "$uvmsim" run "$repository/workloads/tiled_matmul.uvmt" "${h200[@]}" --osf 2 --no-unlimited-run \
    --json matmul.json --timeline matmul.timeline.json >matmul.txt
  "$uvmsim" run "$repository/workloads/alexnet.uvmt" "${h200[@]}" --layout pytorch_caching --iterations 1 \
    --json alexnet.json --csv alexnet.csv >alexnet.txt
  "$uvmsim" trace generate zipf --bytes 128MiB --kernels 4 --write-percent 30 --seed 5 -o zipf.jsonl >generate.txt
  "$uvmsim" run zipf.jsonl "${h200[@]}" --osf 1.25,3 --json zipf.json --csv zipf.csv >zipf.txt
  "$uvmsim" run zipf.jsonl --system a100-sxm-40g --osf 4 --prefetch sequential --evict lru --seed 7 \
    --json a100.json --csv a100.csv >a100.txt
  echo '{"traces": "zipf.jsonl", "systems": "h200-sxm-pcie5", "osf": ["none", 2], "evict": ["lrm", "lru"]}' >sweep.json
  "$uvmsim" sweep sweep.json -o sweep >sweep.txt
  rm sweep/points.jsonl sweep/sweep.json # they name the folder of the trace
  "$uvmsim" validate "$repository"/tests/ground_truth/data/{uvm,library_kernels}_h200_dev.jsonl.zst \
    --system h200-sxm-pcie5 --json validate.json >validate.txt || status=$?
  echo "$status" >validate_status.txt
  ((status <= 1)) # 1: outside the tolerances, which other tests judge
}

# The same build twice as well: a result must not depend on the run.
number=0
for uvmsim in "$1" "$1" "${others[@]}"; do
  mkdir "$scratch/$number"
  command="$(realpath "$uvmsim")"
  (cd "$scratch/$number" && produce "$command")
  if ! diff --recursive --brief "$scratch/0" "$scratch/$number"; then
    echo "$uvmsim and $1 differ (folders 0 and $number); first lines:"
    diff --recursive "$scratch/0" "$scratch/$number" | cut -c 1-200 | head -n 20
    exit 1
  fi
  number=$((number + 1))
done
echo "$number runs wrote the same $(find "$scratch/0" -type f | wc -l) files"
