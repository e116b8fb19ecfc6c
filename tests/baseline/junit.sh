#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a JUnit report of passed, failed and broken points and reads it with another program.
# usage: junit.sh COMMAND
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
uvmsim="$(realpath "$1")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

"$uvmsim" trace generate sequential --bytes 16MiB --repeats 2 -o scan.jsonl >trace.txt
"$uvmsim" check b.json --new scan.jsonl --system h200-sxm-pcie5 --osf 1,2,4
# One point expects something else, one has no trace, one a name that XML has to escape.
"${PYTHON:-python3}" - <<'PYTHON'
import json

baseline = json.load(open("b.json"))
baseline["points"][0]["name"] = "a <b> & \"c\" 'd' \u00e9"
baseline["points"][1]["expected"]["fault_batches"] += 1
baseline["points"][2]["inputs"]["trace"] = "gone & <lost>.jsonl"
json.dump(baseline, open("b.json", "w"))
PYTHON
status=0
"$uvmsim" check b.json --junit report.xml || status=$?
((status == 1))
"${PYTHON:-python3}" "$here/read_junit.py" report.xml
