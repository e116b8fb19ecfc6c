#!/usr/bin/env bash
# Installs a built uvmsim into a temporary folder and builds this folder against it, as a stranger would.
# usage: run.sh BUILD_DIR [CMAKE_ARGUMENT...]
set -euo pipefail
build="$1"
shift
source_dir="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
cmake -S "$source_dir" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" "$@" >/dev/null
cmake --build "$scratch/build"
"$scratch/build/stranger"
