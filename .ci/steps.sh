# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Named, timed steps for quickstart.sh and test.sh, so that a failure says which step failed.
#
#   source .ci/steps.sh
#   step "build"      # ends the step before, starts this one
#   finish_steps      # ends the last one and prints the total time

current_step=""
step_started=0

finish_step() {
  if [[ -n "$current_step" ]]; then
    echo "-- $current_step: $((SECONDS - step_started)) s"
  fi
  current_step=""
}

step() {
  finish_step
  current_step="$1"
  step_started=$SECONDS
  printf '\n== %s\n' "$current_step"
}

finish_steps() {
  finish_step
  echo "-- total: $((SECONDS / 60)) min $((SECONDS % 60)) s"
}

report_failure() {
  local status=$?
  if ((status != 0)) && [[ -n "$current_step" ]]; then
    echo "uvmsim: ${0##*/} failed in step '$current_step' (after $SECONDS s)" >&2
  fi
}
trap report_failure EXIT

# Where we are allowed to, say nothing about success: the log of a step is shown only when the step fails.
quietly() {
  local log status=0
  log="$(mktemp)"
  "$@" >"$log" 2>&1 || status=$?
  if ((status != 0)); then
    cat "$log" >&2
  fi
  rm -f "$log"
  return "$status"
}
