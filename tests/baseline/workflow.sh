#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the workflow in policies/examples as another repository would: the commands of its steps, read from the file, in
# a copy of that folder. Building uvmsim is left out; the build that is there is installed instead.
# usage: workflow.sh BUILD_DIR [CMAKE_ARGUMENT...]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
repository="$(cd "$here/../.." && pwd)"
build="$(realpath "$1")"
shift
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp -r "$repository/policies/examples/." "$scratch"
cd "$scratch"
mkdir uvmsim
ln -s "$repository/workloads" uvmsim/workloads
cmake --install "$build" --prefix "$scratch/uvmsim/install" >/dev/null
workflow=.github/workflows/policy.yml

# As GitHub runs a step: bash, stopping at the first error.
run_step() {
  echo "-- $1"
  "${PYTHON:-python3}" "$here/workflow_step.py" "$workflow" "$1" >step.sh
  bash -e step.sh
}

# Step by step; what the step that builds uvmsim names is there.
"${PYTHON:-python3}" "$here/workflow_step.py" "$workflow" "Build uvmsim" >build_uvmsim.sh
grep --quiet 'source uvmsim/.ci/dependencies.sh' build_uvmsim.sh
grep --quiet '^install_dependencies()' "$repository/.ci/dependencies.sh"
for option in $(grep --only-matching --extended-regexp 'DUVMSIM_[A-Z_]+' build_uvmsim.sh); do
  grep --quiet "option(${option#D} " "$repository/CMakeLists.txt"
done

# The compiler and its libraries must be those of the build.
export CMAKE_GENERATOR=Ninja
for argument in "$@"; do
  [[ "$argument" == -DCMAKE_CXX_COMPILER=* ]] && export CXX="${argument#*=}"
done
run_step "Build the policy"
run_step "Check that the policy keeps its contract"

echo "-- the first baseline, by the command in the comment"
sed --quiet --expression 's/^#   //p' "$workflow" >commands.sh
grep --invert-match -e --update commands.sh >first_baseline.sh
grep -e --update commands.sh >update_baseline.sh
bash -e first_baseline.sh

run_step "Check the policy"
grep --quiet 'tests="3" failures="0" errors="0"' report.xml

echo "-- a policy that behaves otherwise fails the step"
sed --in-place 's/boolean("backwards", false,/boolean("backwards", true,/' next_unit.cpp
run_step "Build the policy"
status=0
run_step "Check the policy" || status=$?
((status == 1))
grep --quiet '<failure type="changed"' report.xml

echo "-- the other command in the comment takes the change over"
bash -e update_baseline.sh
run_step "Check the policy"
