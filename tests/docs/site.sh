#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the site and checks that its reference is complete, and that the check notices what is missing.
# usage: site.sh FOLDER, with the command in UVMSIM and the interpreter in PYTHON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
check=("$PYTHON" -B tests/docs/check_reference.py "$UVMSIM")

docs/build.sh "$1"
"${check[@]}" "$1/html"

# Without any one of these the check fails.
for missing in 'uvmsim-league.html' '--seconds-per-point' 'walk_level_ns' 'shared_osf' 'footprint_bytes' 'gmmu_stall_ns' 'mhpe_like' 'preallocating'; do
  if "${check[@]}" "$1/html" --without "$missing" >/dev/null 2>&1; then
    echo "check_reference.py does not notice that $missing is missing" >&2
    exit 1
  fi
done
