#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. What each build is for:
#   build/python    g++ -O3: the Python module, its tests and its example
#   build/test      g++ -O1 with the model's checks on: all tests
#   build/fuzz      clang++ with address and undefined-behaviour sanitizers: tests of bad input, fuzzers (20 s each);
#                   warnings of the second compiler are errors too
# The commands of all three must write the same bytes.
# Set UVMSIM_FUZZ_SECONDS for a longer or shorter run of the fuzzers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source .ci/dependencies.sh
source .ci/steps.sh

# build PRESET TARGET...
build() {
  local preset="$1"
  shift
  quietly cmake --preset "$preset"
  nice -n 5 cmake --build --preset "$preset" --target "$@"
}

step "install packages"
install_dependencies test

step "build the command and the Python module with g++ (build/python)"
build python uvmsim_cli uvmsim_python next_unit_plugin

step "build the tests (build/test)"
build test all

step "build the tests of bad input with sanitizers (build/fuzz)"
build fuzz uvmsim_cli uvmsim_hostile_tests uvmsim_fuzzers

jobs="$(nproc)"
failed=0
export UVMSIM_OTHER_COMMANDS="build/python/bin/uvmsim build/fuzz/bin/uvmsim"

step "tests of bad input and fuzzers, with sanitizers"
ctest --preset fuzz --parallel "$jobs" --label-regex 'hostile|fuzz' || failed=1

step "tests of the Python module"
ctest --preset python || failed=1

step "all tests"
ctest --preset test --parallel "$jobs" || failed=1

finish_steps
exit "$failed"
