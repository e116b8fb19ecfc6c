#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds uvmsim and shows GPT-2 training slow down as GPU memory shrinks.
# Results, the table and the figure are written to results/quickstart/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source .ci/dependencies.sh
source .ci/steps.sh

trace=workloads/gpt2.uvmt
system=h200-sxm-pcie5
factors=1,1.25,1.5,2,3,4,6,8,10
results=results/quickstart

step "install packages"
install_dependencies build

step "build (build/release)"
quietly cmake --preset release
nice -n 5 cmake --build --preset release --target uvmsim_cli

step "replay $trace on $system"
mkdir -p "$results"
build/release/bin/uvmsim run "$trace" --system "$system" --osf "$factors" --prefetch tree --evict lrm \
  --json "$results/gpt2.jsonl" | tee "$results/gpt2.txt"

step "figure"
"$PYTHON" -m analysis.plot_osf "$results/gpt2.jsonl" -o "$results/gpt2_slowdown.png"
echo "figure: $results/gpt2_slowdown.png; table: $results/gpt2.txt; results: $results/gpt2.jsonl"

finish_steps
