#!/usr/bin/env bash
# Installs what is missing, builds uvmsim and shows GPT-2 training slow down as GPU memory shrinks.
# Results, the table and the figure are written to results/quickstart/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source .ci/dependencies.sh
source .ci/steps.sh

trace=workloads/gpt2_h200.uvmt
system=h200-sxm-pcie5
factors=(1 1.25 1.5 2 3 4 6 8 10)
results=results/quickstart

step "install packages"
install_dependencies build

step "build (build/release)"
quietly cmake --preset release
nice -n 5 cmake --build --preset release --target uvmsim_cli

step "replay $trace on $system"
mkdir -p "$results"
outputs=()
for factor in "${factors[@]}"; do
  output="$results/gpt2_osf_$factor.json"
  build/release/bin/uvmsim run "$trace" --system "$system" --osf "$factor" --prefetch tree --evict lrm \
    --json "$output" >/dev/null
  outputs+=("$output")
  echo "oversubscription factor $factor: $output"
done

step "table and figure"
"$PYTHON" analysis/slowdown.py "${outputs[@]}" --table --figure "$results/gpt2_slowdown.png"
echo "figure: $results/gpt2_slowdown.png"

finish_steps
