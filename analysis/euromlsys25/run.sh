#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole paper in one command: runs the sweep (an interrupted one goes on), profiles what kernels touch, prints the
# claim table and draws figures 1 to 9.
#
#   analysis/euromlsys25/run.sh [RESULTS]     default results/euromlsys25
#
# UVMSIM is the command to run, default build/release/bin/uvmsim; PYTHON an interpreter with matplotlib and pandas,
# default /usr/bin/python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

results="${1:-results/euromlsys25}"
uvmsim="${UVMSIM:-build/release/bin/uvmsim}"
models=(alexnet resnet50 resnet101 gpt2 bert whisper)

"$uvmsim" sweep configs/sweeps/euromlsys25.json -o "$results"

mkdir -p "$results/profiles"
printf '%s\n' "${models[@]}" | xargs --max-procs="$(nproc)" --replace=MODEL \
  "$uvmsim" run workloads/paper/MODEL.uvmt --system a100-pcie-80g --layout pytorch_caching --iterations 5 \
  --profile "$results/profiles/MODEL.profile" >/dev/null

"${PYTHON:-/usr/bin/python3}" -m analysis.euromlsys25 "$results"
