#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs tests.
#
#   ./test.sh        the gate, what every change passes; meant to take ten minutes on two cores
#   ./test.sh all    everything, what continuous integration runs
#
# tests/README.md says what is in which. What each build is for:
#   build/test      g++ with the model's checks on: tests; for `all` the Python module and the tracer's GPU side too
#   build/fuzz      clang++ -O0 with address and undefined-behaviour sanitizers: tests of bad input, fuzzers; in the gate
#                   those of the library io. Warnings of the second compiler are errors too
#   build/release   g++ -O3: only for `all`, and where quickstart.sh made it
# The commands of all must write the same bytes.
# Set UVMSIM_FUZZ_SECONDS for a longer or shorter run of the fuzzers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source .ci/dependencies.sh
source .ci/steps.sh

export UVMSIM_TIER="${1:-gate}"
if [[ $# -gt 1 || ! "$UVMSIM_TIER" =~ ^(gate|all)$ ]]; then
  echo "usage: ./test.sh [all]" >&2
  exit 2
fi

jobs="$(nproc)"
failed=0
summaries=()

# build PRESET TARGET...
build() {
  local preset="$1"
  shift
  quietly cmake --preset "$preset"
  nice -n 5 cmake --build --preset "$preset" --target "$@"
}

# run_tests PRESET CTEST_ARGUMENT...: the summary, from the line "N% tests passed" on, is kept for the end.
run_tests() {
  local preset="$1" folder="build/$1/Testing"
  shift
  rm -rf "$folder/cases" "$folder/ctest.xml"
  mkdir -p "$folder"
  : >"$folder/summary.txt"
  summaries+=("$folder/summary.txt")
  ctest --preset "$preset" --parallel "$jobs" --no-label-summary --output-junit Testing/ctest.xml "$@" 2>&1 |
    awk -v summary="$folder/summary.txt" '/tests passed, .* failed out of/ { end = 1 }
      end { print >summary; next } { print; fflush() }' || failed=1
}

step "install packages"
install_dependencies test

if [[ "$UVMSIM_TIER" == gate ]]; then
  step "build the tests (build/test)"
  build test uvmsim_gate
  step "build the tests of bad input of the library io, with sanitizers (build/fuzz)"
  build fuzz uvmsim_io_hostile

  step "tests of bad input of the library io and fuzzers, with sanitizers"
  run_tests fuzz --label-regex '^io$' --label-regex 'hostile|fuzz'
  step "tests"
  run_tests test --label-exclude '^all$'
else
  step "build the tests, the Python module and the tracer (build/test)"
  build test all
  step "build the tests of bad input with sanitizers (build/fuzz)"
  build fuzz uvmsim_cli uvmsim_hostile_tests uvmsim_fuzzers
  export UVMSIM_OTHER_COMMANDS="build/fuzz/bin/uvmsim"
  if [[ -x build/release/bin/uvmsim ]]; then
    step "bring quickstart.sh's build up to date (build/release)"
    build release uvmsim_cli
    UVMSIM_OTHER_COMMANDS+=" build/release/bin/uvmsim"
  fi

  step "tests of bad input and fuzzers, with sanitizers"
  run_tests fuzz --label-regex 'hostile|fuzz'
  step "tests"
  run_tests test
fi

finish_steps
echo
.ci/slowest_tests.py build/test
for summary in "${summaries[@]}"; do
  printf '\n%s:\n' "${summary%/Testing/summary.txt}"
  cat "$summary"
done
exit "$failed"
