#!/usr/bin/env bash
# Installs a built uvmsim into a temporary folder and builds against it, as a stranger would: the program in this folder,
# the plug-in in policies/examples, all built-ins, and what docs/first_policy.md says for a first policy.
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
fi

echo "the built-ins, against installed headers"
cmake -S "$source_dir/built_ins" -B "$scratch/built_ins" -DUVMSIM_POLICIES="$source_dir/../../policies" -G Ninja "$@" >/dev/null
cmake --build "$scratch/built_ins"

echo "the lines of docs/first_policy.md for a first policy"
cd "$source_dir/../.."
awk '/^## In C\+\+/ { here = 1 } /^```/ { if (lines) exit; if (here) { lines = 1; next } } lines' docs/first_policy.md | sed "s#build/release#$build#" >"$scratch/lines.sh"
[[ "$(wc -l <"$scratch/lines.sh")" -ge 6 ]] || { echo "docs/first_policy.md: its first policy has no lines" >&2; exit 1; }
unset CMAKE_PREFIX_PATH
mkdir -p "$scratch/home"
HOME="$scratch/home" PATH="$scratch/home/.local/bin:$PATH" bash -euo pipefail "$scratch/lines.sh" >"$scratch/lines.txt"
grep -q "nothing is wrong" "$scratch/lines.txt"
grep -Eq "^> +o?[0-9]+  prefetch mine" "$scratch/home/mine/league/league.txt"
