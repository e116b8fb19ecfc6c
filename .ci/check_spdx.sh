#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every source file names its licence; --fix adds the line, behind "#!" where there is one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
licence="SPDX-License-Identifier: Apache-2.0"

# Files that do not name it in their first three lines; empty files and links need not.
missing="$(git ls-files | grep -E '\.(cpp|h|cu|cuh|c|py|sh|cmake|proto)$|(^|/)CMakeLists\.txt$' |
  while read -r file; do [[ -s "$file" && ! -L "$file" ]] && echo "$file"; done |
  xargs -d '\n' awk -v licence="$licence" 'index($0, licence) { named[FILENAME] = 1; nextfile }
    FNR == 3 { nextfile }
    END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in named)) print ARGV[i] }')"
[[ -n "$missing" ]] || exit 0

if [[ "${1:-}" != --fix ]]; then
  while read -r file; do echo "$file: has no line '$licence'; $0 --fix adds it"; done <<<"$missing"
  exit 1
fi
while read -r file; do
  case "$file" in
    *.cpp | *.h | *.cu | *.cuh | *.proto | *.c) line="// $licence" ;;
    *) line="# $licence" ;;
  esac
  if [[ "$(head -c 2 -- "$file")" == "#!" ]]; then
    sed -i "1a\\$line" -- "$file"
  else
    sed -i "1i\\$line" -- "$file"
  fi
done <<<"$missing"
