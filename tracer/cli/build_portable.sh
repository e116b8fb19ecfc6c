#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds uvmtrace and uvmsim so that they run on a machine that has no libraries of theirs: everything is linked
# statically, uvmsim cannot load policy plug-ins then. Needs the static libraries of boost, protobuf, zstd and SQLite.
# usage: build_portable.sh [build folder, default build/portable]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="${1:-build/portable}"
library="/usr/lib/$(gcc -print-multiarch)"
for archive in libboost_program_options libprotobuf libzstd libsqlite3; do
  [[ -f "$library/$archive.a" ]] || { echo "build_portable.sh: $library/$archive.a is missing" >&2; exit 1; }
done

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DUVMSIM_MODEL_CHECKS=OFF -DUVMSIM_BUILD_TESTS=OFF \
  -DUVMTRACE_PORTABLE=ON
cmake --build "$build" --target uvmtrace_cli uvmsim_cli -j"${JOBS:-$(nproc)}"
for command in uvmtrace uvmsim; do
  strip -o "$build/$command" "$build/bin/$command"
  if ldd "$build/$command" >/dev/null 2>&1; then
    echo "build_portable.sh: $command still needs: $(ldd "$build/$command" | tr '\n' ' ')" >&2
    exit 1
  fi
  "$build/$command" --version
done
