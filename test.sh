#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs every test. What each build is for:
#   build/test      g++ -O1 with the model's checks on, the Python module too: all tests
#   build/fuzz      clang++ -O0 with address and undefined-behaviour sanitizers: tests of bad input, fuzzers (10 s
#                   each); warnings of the second compiler are errors too
#   build/release   g++ -O3: only where quickstart.sh made it
# The commands of all must write the same bytes.
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

step "build the tests and the Python module (build/test)"
build test all

step "build the tests of bad input with sanitizers (build/fuzz)"
build fuzz uvmsim_cli uvmsim_hostile_tests uvmsim_fuzzers

export UVMSIM_OTHER_COMMANDS="build/fuzz/bin/uvmsim"
if [[ -x build/release/bin/uvmsim ]]; then
  step "bring quickstart.sh's build up to date (build/release)"
  build release uvmsim_cli
  UVMSIM_OTHER_COMMANDS+=" build/release/bin/uvmsim"
fi

jobs="$(nproc)"
failed=0

step "tests of bad input and fuzzers, with sanitizers"
# Without those that take long there and try no bad input, or only its size.
slow='ScenarioTest\.(HarvestingIsTheSame|AYielderLoses|TheTimelineHas|ARepeatedProgramIsThere)|TellsEveryProgramTogetherAndAlone'
slow+='|League\.(SweepFilesGive|NoTwoPrefetchers|EveryRegistered|PoliciesOfPlugins|NumbersAre|AnotherPlugin|PlannedItIs|OnceMore)'
slow+='|Standings\.|RunProfile\.DoesNotChange|Compare\.SweepsAndTheirDatabases|CheckCommand\.ASweepBecomesACheck'
slow+='|Recorded\.(PairsAreThose|SevenMoreIterations)|ManyScatteredAccessesAreJoined|CallCosts|AllocatorHistories'
slow+='|CalibrateCommand\.WritesASystem|GivesUpOnSequences|LinesHaveLimits|Writer\.LargeRecords|AlignEnds\.LongSequences'
slow+='|MatchPrologue\.MayBeLonger'
ctest --preset fuzz --parallel "$jobs" --label-regex 'hostile|fuzz' --exclude-regex "$slow" || failed=1

step "all tests"
ctest --preset test --parallel "$jobs" || failed=1

finish_steps
exit "$failed"
