#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What takes too long for every change; meant for once a week, or before a release:
# - every file compiled by itself, by clang, without optimisation (build/deep): a unity build hides missing includes;
# - every header of sim/ and policies/ compiled by itself;
# - the release build by g++ (build/release), which warns of what only -O3 shows;
# - clang-tidy with the checks of .clang-tidy.
# Name files to look at these alone: .ci/deep.sh sim/formats/*.cpp
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/dependencies.sh
source .ci/steps.sh

jobs="$(nproc)"
failed=0
files=("$@")
headers=()
if [[ ${#files[@]} -eq 0 ]]; then
  mapfile -t files < <(git ls-files 'sim/*.cpp' 'policies/*.cpp')
  mapfile -t headers < <(git ls-files 'sim/*.h' 'policies/*.h')
fi

step "install packages"
install_dependencies test

step "configure (build/deep)"
quietly cmake -S . -B build/deep -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++ -DUVMSIM_WERROR=ON \
  -DUVMSIM_MODEL_CHECKS=ON -DUVMSIM_BUILD_TESTS=OFF
quietly cmake --build build/deep --target uvmsim_trace_messages

if [[ ${#headers[@]} -ne 0 ]]; then
  step "every file by itself"
  nice cmake --build build/deep --target uvmsim_cli || failed=1

  step "every header by itself"
  includes=(-I. -isystem build/deep/sim/trace/generated)
  flags=(-std=c++20 -fsyntax-only -Wno-pragma-once-outside-header -Wno-unused-const-variable -DUVMSIM_MODEL_CHECKS=1)
  printf '%s\n' "${headers[@]}" | xargs -P "$jobs" -I{} nice clang++ "${flags[@]}" "${includes[@]}" {} || failed=1

  step "release build"
  quietly cmake --preset release
  nice cmake --build --preset release || failed=1
fi

step "clang-tidy"
if command -v clang-tidy >/dev/null; then
  printf '%s\n' "${files[@]}" | xargs -P "$jobs" -n 4 nice clang-tidy --quiet -p build/deep || failed=1
else
  echo "skipped: clang-tidy is not installed"
fi

finish_steps
exit "$failed"
