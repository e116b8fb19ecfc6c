#!/usr/bin/env bash
# Installs a built uvmsim into a temporary folder and builds against it, as a stranger would: the program in this folder
# and the plug-in in policies/examples.
# usage: run.sh BUILD_DIR [CMAKE_ARGUMENT...]
set -euo pipefail
build="$1"
shift
source_dir="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
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
