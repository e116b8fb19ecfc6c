#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The toolkit's CUPTI with the toolkit's stub in place of a driver: one line, no crash, no log. And a CUPTI that cannot be
# loaded. Usage: real_cupti.sh LOADER LIBRARY STUB CUPTI        (STUB: libcuda.so to link with, CUPTI: libcupti.so)
set -u
loader="$1" library="$2" stub="$3" cupti="$4"
[ -e "$stub" ] && [ -e "$cupti" ] || { echo "skipped: no CUPTI library or no driver stub here"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/stub" "$work/broken" "$work/logs"
ln -s "$stub" "$work/stub/libcuda.so.1"

expect() {  # expect TEXT LIBRARY_PATH
  UVMTRACE_LOG_DIR="$work/logs" LD_LIBRARY_PATH="$2" "$loader" "$library" >"$work/out" 2>"$work/err"
  local status=$?
  cat "$work/err"
  [ "$status" -eq 77 ] && exit 77
  [ "$status" -eq 0 ] || { echo "exit status $status"; exit 1; }
  [ "$(wc -l <"$work/err")" -eq 1 ] || { echo "not one line"; exit 1; }
  grep -q "^uvmtrace: .*$1" "$work/err" || { echo "expected: $1"; exit 1; }
  [ -z "$(ls "$work/logs")" ] || { echo "a log was written"; exit 1; }
}
expect "CUPTI cannot start" "$work/stub:$(dirname "$cupti")"
for name in libcupti.so.12 libcupti.so.13; do echo "not a library" >"$work/broken/$name"; done
expect "cannot load CUPTI" "$work/stub:$work/broken"
