#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a built uvmsim into a temporary folder and builds against it, as a stranger would: the program in this folder,
# the plug-in in policies/examples, all built-ins, and what docs/first_policy.md and configs/scenarios/SHARING.md say.
# usage: run.sh BUILD_DIR [CMAKE_ARGUMENT...]
set -euo pipefail
build="$1"
shift
source_dir="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --component uvmsim --prefix "$scratch/prefix" >/dev/null
export CMAKE_PREFIX_PATH="$scratch/prefix"

echo "a program that links uvmsim::uvmsim"
cmake -S "$source_dir" -B "$scratch/program" -G Ninja "$@" >/dev/null
cmake --build "$scratch/program"
"$scratch/program/stranger"

echo "a policy plug-in, loaded by the installed command"
cmake -S "$source_dir/../../policies/examples" -B "$scratch/plugin" -G Ninja "$@" >/dev/null
cmake --build "$scratch/plugin"
if [[ -x "$scratch/prefix/bin/uvmsim" ]]; then
  cd / # the installed command needs nothing from the source folder
  "$scratch/prefix/bin/uvmsim" policies next_unit --plugin "$scratch/plugin/next_unit.so"
  "$scratch/prefix/bin/uvmsim" check-policy "$scratch/plugin/next_unit.so"
  cmake --install "$scratch/plugin" --prefix "$scratch/prefix" >/dev/null
  "$scratch/prefix/bin/uvmsim" policies next_unit --plugin next_unit >/dev/null
  "$scratch/prefix/bin/uvmsim" bpf build "$scratch/prefix/share/uvmsim/bpf/policies/mru.bpf.c" -o "$scratch/mru.so"
fi

echo "the built-ins, against installed headers"
cmake -S "$source_dir/built_ins" -B "$scratch/built_ins" -DUVMSIM_POLICIES="$source_dir/../../policies" -G Ninja "$@" >/dev/null
cmake --build "$scratch/built_ins"

unset CMAKE_PREFIX_PATH
mkdir -p "$scratch/home"

# The first block of lines below a heading of a page, in a home of its own.
run_lines() {
  local page="$1" heading="$2"
  awk -v heading="$heading" 'index($0, heading) == 1 { here = 1 } /^```/ { if (lines) exit; if (here) { lines = 1; next } } lines' "$page" |
    sed "s#build/release#$build#" >"$scratch/lines.sh"
  [[ "$(wc -l <"$scratch/lines.sh")" -ge 6 ]] || { echo "$page: '$heading' has no lines" >&2; exit 1; }
  HOME="$scratch/home" PATH="$scratch/home/.local/bin:$PATH" bash -euo pipefail "$scratch/lines.sh" >"$scratch/lines.txt"
  grep -q "nothing is wrong" "$scratch/lines.txt"
}

cd "$source_dir/../.."
echo "the lines of configs/scenarios/SHARING.md for a quota"
run_lines configs/scenarios/SHARING.md "## A quota of your own"

echo "the lines of docs/first_policy.md for a first policy"
run_lines docs/first_policy.md "## In C++"
grep -Eq "^> +o?[0-9]+  prefetch mine" "$scratch/home/mine/league/league.txt"
