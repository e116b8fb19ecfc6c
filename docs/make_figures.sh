#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the figures of docs/figures again: those of the tutorials, whose pages are brought up to date with them, and those
# that only the first page and the gallery show. A minute on two cores.
#
#   docs/make_figures.sh [BIN]     default build/release/bin, the folder of the built commands
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin="$(realpath "${1:-build/release/bin}")"
python="${PYTHON:-/usr/bin/python3}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

"$bin/uvmsim" run workloads/gpt2.uvmt --system h200-sxm-pcie5 --osf 1,1.25,1.5,2,3,4,6,8,10 --json "$scratch/gpt2.jsonl" \
  >/dev/null
"$python" -B -m analysis.plot_osf "$scratch/gpt2.jsonl" -o "$scratch/gpt2_slowdown.png"
"$bin/uvmsim" run workloads/pagerank.uvmt --system h200-sxm-pcie5 --osf 1.5 --profile "$scratch/pagerank.sqlite" >/dev/null
"$python" -B -m analysis.plot_heatmap "$scratch/pagerank.sqlite" -o "$scratch/heatmap.png"
cp "$scratch/gpt2_slowdown.png" "$scratch/heatmap.png" docs/figures/

"$python" -B docs/check_examples.py --update "$bin" docs/*.md README.md
