# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Named, timed steps for quickstart.sh and test.sh, so that a failure says which step failed.
#
#   source .ci/steps.sh
#   step "build"      # ends the step before, starts this one
#   finish_steps      # ends the last one and prints the time of each, and of all

current_step=""
step_started=0
step_processor=0
step_times=()

# Sets processor_seconds: the processor time of this script's finished commands (cutime and cstime of proc(5)).
read_processor_seconds() {
  local stat
  read -r -a stat <"/proc/$$/stat"
  processor_seconds=$(((stat[15] + stat[16]) / $(getconf CLK_TCK)))
}

finish_step() {
  if [[ -n "$current_step" ]]; then
    read_processor_seconds
    local wall=$((SECONDS - step_started)) processor=$((processor_seconds - step_processor))
    echo "-- $current_step: $wall s ($processor s of processor time)"
    step_times+=("$(printf '%6d s %7d s  %s' "$wall" "$processor" "$current_step")")
  fi
  current_step=""
}

step() {
  finish_step
  current_step="$1"
  step_started=$SECONDS
  read_processor_seconds
  step_processor=$processor_seconds
  printf '\n== %s\n' "$current_step"
}

finish_steps() {
  finish_step
  read_processor_seconds
  printf '\n%8s %9s  %s\n' time processor step
  printf '%s\n' "${step_times[@]}"
  printf '%6d s %7d s  total\n' "$SECONDS" "$processor_seconds"
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
