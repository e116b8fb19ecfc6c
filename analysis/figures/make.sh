#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes every picture that a README shows, from results that it computes where they are missing (hours on few cores; an
# interrupted one goes on). Their metadata says what made them.
#
#   analysis/figures/make.sh [RESULTS]     default results
#
# UVMSIM is the command to run, default build/release/bin/uvmsim; PYTHON an interpreter with matplotlib and pandas,
# default /usr/bin/python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

results="${1:-results}"
uvmsim="${UVMSIM:-build/release/bin/uvmsim}"
python="${PYTHON:-/usr/bin/python3}"
figures=analysis/figures
mkdir -p "$results"

# analysis/README.md
UVMSIM="$uvmsim" PYTHON="$python" analysis/euromlsys25/run.sh "$results/euromlsys25"
"$python" -m analysis.euromlsys25 "$results/euromlsys25" -o "$results/euromlsys25/small" --dpi 80
for number in 1 2 3 4 5 6 7 8 9; do
  cp "$results/euromlsys25/small/fig$number.png" "$figures/fig$number.png"
done

# configs/sweeps/LEAGUE.md
"$uvmsim" league configs/sweeps/league.json -o "$results/league" >"$results/league.txt"
"$python" -m analysis.plot_league "$results/league" -o "$results/league/figure"
cp "$results/league/figure.png" "$figures/league.png"

# workloads/recommendation/README.md
ssd=(--set ssd.memory_bytes=8TiB --set ssd.read_bytes_per_us=3200 --set ssd.write_bytes_per_us=3000
  --set ssd.read_latency_ns=12000 --set ssd.write_latency_ns=16000)
studies=()
recommend() {
  studies+=("$results/recommend_$1.json")
  "$uvmsim" recommend "${@:2}" --system h200-sxm-pcie5 --json "${studies[-1]}" >"$results/recommend_$1.txt"
}
recommend fifth criteo_1tb "${ssd[@]}" --osf 5
recommend two_hundredth criteo_1tb --osf 200 --warm-up 300
recommend tables_4tb tables_4tb "${ssd[@]}" --set host.memory_bytes=1TiB --gpu-bytes 100GiB --host-cache 800GiB
"$python" -m analysis.plot_recommend "${studies[@]}" -o "$results/recommend" --dpi 90
cp "$results/recommend.png" "$figures/recommend.png"

# configs/scenarios/SHARING.md
"$python" -m analysis.sharing configs/scenarios/shared_*.json --uvmsim "$uvmsim" -o "$results/sharing"
cp "$results/sharing.png" "$figures/sharing.png"
