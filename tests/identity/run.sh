#!/usr/bin/env bash
# Runs the same commands with several builds of uvmsim and compares every byte they write.
# usage: run.sh COMMAND
# The other builds are named in UVMSIM_OTHER_COMMANDS, separated by spaces, relative to the top folder (see test.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
repository="$PWD"
read -r -a others <<<"${UVMSIM_OTHER_COMMANDS:-}"
if ((${#others[@]} == 0)); then
  echo "skipped: UVMSIM_OTHER_COMMANDS names no other build; test.sh does"
  exit 77
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# Everything is written with relative names, so that no path differs between the builds.
produce() {
  local uvmsim="$1" factor
  for factor in 1 1.5 4; do
    "$uvmsim" run "$repository/workloads/gpt2_h200.uvmt" --system h200-sxm-pcie5 --osf "$factor" \
      --prefetch tree --evict lrm --json "gpt2_$factor.json" --timeline "gpt2_$factor.timeline.json" \
      >"gpt2_$factor.txt"
  done
  "$uvmsim" run "$repository/workloads/resnet50_h200.uvmt" --system a100-sxm-40g --osf 2 \
    --prefetch sequential --evict lru --seed 7 --json resnet50.json --csv resnet50.csv >resnet50.txt
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
