#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the figures of docs/figures again: those of the first page and the tutorials, whose pages are brought up to date
# with them, and those that only the gallery shows. Minutes on two cores.
#
#   docs/make_figures.sh [BIN]           default build/release/bin, the folder of the built commands
#   docs/make_figures.sh --readme [BIN]  only what the first page shows: its picture, its table, and how far off all is
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
only_readme=""
if [[ "${1:-}" == --readme ]]; then
  only_readme=yes
  shift
fi
bin="$(realpath "${1:-build/release/bin}")"
python="${PYTHON:-/usr/bin/python3}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

"$python" -B tests/ground_truth/accuracy.py "$bin/uvmsim" --update
if [[ -n "$only_readme" ]]; then
  "$python" -B docs/check_examples.py --update "$bin" README.md
  exit
fi

"$bin/uvmsim" run workloads/pagerank.uvmt --system h200-sxm-pcie5 --osf 1.5 --profile "$scratch/pagerank.sqlite" >/dev/null
"$python" -B -m analysis.plot_heatmap "$scratch/pagerank.sqlite" -o "$scratch/heatmap.png"
cp "$scratch/heatmap.png" docs/figures/

# The first screen of the page that docs/report.md makes, where there is a browser.
browser="$(command -v chromium-headless-shell || command -v chromium || true)"
if [[ -n "$browser" ]]; then
  (
    cd "$scratch"
    ln -s "$OLDPWD/workloads" workloads
    cat >study.json <<'END'
{"traces": "workloads/alexnet.uvmt", "systems": "h200-sxm-pcie5", "osf": [1, 1.25, 1.5, 2, 3],
 "grids": [{}, {"plan": "deepum"}], "bounds": true}
END
    "$bin/uvmsim" sweep study.json -o study >/dev/null
    "$bin/uvmsim" run workloads/alexnet.uvmt --system h200-sxm-pcie5 --osf 1.5 --profile alexnet.profile >/dev/null
    "$bin/uvmsim" report study alexnet.profile -o alexnet.html
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,1500 \
      --user-data-dir="$scratch/browser" --screenshot="$scratch/report.png" "file://$scratch/alexnet.html" 2>/dev/null
  )
  cp "$scratch/report.png" docs/figures/
else
  echo "docs/make_figures.sh: no Chromium: docs/figures/report.png stays as it is"
fi

"$python" -B docs/check_examples.py --update "$bin" docs/*.md README.md
