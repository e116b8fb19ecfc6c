#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/soak/soak.sh [SECONDS_PER_FUZZER [CALLS]]
#
# What test.sh proves, for longer: every fuzzer for SECONDS_PER_FUZZER (3600) from another seed each time, what it covers
# kept in build/fuzz; every command with CALLS (1000) of its calls failing, per kind of fault; the tests of signals and
# kills, and of hostile input, UVMSIM_SOAK_ROUNDS (10) times. Prints figures for README.md; fails when anything failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds="${1:-3600}" calls="${2:-1000}" rounds="${UVMSIM_SOAK_ROUNDS:-10}"
failed=0

cmake --preset test >/dev/null && cmake --build --preset test --target uvmsim_cli uvmtrace_cli soak_fault cli_test cli_hostile_test || exit 1
echo "soak: $calls calls of each command and fault"
# Not by ctest, which ends the test after half an hour whatever its option --timeout says.
build="$PWD/build/test"
(cd tests/soak && UVMSIM_COMMAND="$build/bin/uvmsim" UVMTRACE_COMMAND="$build/bin/uvmtrace" \
  UVMSIM_FAULT_LIBRARY="$build/tests/soak/fault.so" UVMSIM_SOAK_CALLS="$calls" \
  "${PYTHON:-/usr/bin/python3}" -B -W error -m unittest test_left_behind) || failed=1
echo "soak: $rounds rounds of signals, kills and the list of attacks"
ctest --test-dir build/test -R '^cli_test\.(Interrupt|PluginFault|Sweep)|^cli_hostile_test\.' \
  --repeat "until-fail:$rounds" -j "$(nproc)" --output-on-failure || failed=1

if (( seconds > 0 )); then
  cmake --preset fuzz >/dev/null && cmake --build --preset fuzz --target uvmsim_fuzzers || exit 1
  echo "soak: fuzzers, $seconds s each"
  UVMSIM_FUZZ_SECONDS="$seconds" UVMSIM_FUZZ_SEED="${UVMSIM_FUZZ_SEED:-0}" \
    ctest --preset fuzz -L fuzz -V --timeout 604800 |
    grep -E 'stat::(number_of_executed_units|new_units_added)|Test +#|tests passed|ERROR|crash_' || failed=1
fi
exit "$failed"
