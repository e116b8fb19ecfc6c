#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every source file names its licence; --fix adds the line, behind "#!" where there is one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
licence="SPDX-License-Identifier: Apache-2.0"
missing=0
while read -r file; do
  head -n 3 -- "$file" | grep -q -F "$licence" && continue
  if [[ "${1:-}" != --fix ]]; then
    echo "$file: has no line '$licence'; $0 --fix adds it"
    missing=1
    continue
  fi
  case "$file" in
    *.cpp | *.h | *.cu | *.cuh | *.proto | *.c) line="// $licence" ;;
    *) line="# $licence" ;;
  esac
  if [[ "$(head -c 2 -- "$file")" == "#!" ]]; then
    sed -i "1a\\$line" -- "$file"
  else
    sed -i "1i\\$line" -- "$file"
  fi
done < <(git ls-files | grep -E '\.(cpp|h|cu|cuh|c|py|sh|cmake|proto)$|(^|/)CMakeLists\.txt$' | while read -r f; do [[ -s "$f" && ! -L "$f" ]] && echo "$f"; done)
exit "$missing"
