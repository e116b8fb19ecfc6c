#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every C++ file is formatted as .clang-format and one_line.py say; --fix formats them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Other versions format differently.
if ! command -v clang-format-14 >/dev/null; then
  echo "skipped: clang-format-14 is not installed"
  exit 77
fi
mapfile -d '' -t files < <(
  find sim python tracer policies tests \( -name '*.h' -o -name '*.cpp' \) -type f -print0 2>/dev/null)
if [[ "${1:-}" == --fix ]]; then
  .ci/one_line.py --fix "${files[@]}"
  clang-format-14 -i "${files[@]}"
else
  .ci/one_line.py "${files[@]}"
  clang-format-14 --dry-run --Werror "${files[@]}"
  echo "${#files[@]} files are formatted"
fi
