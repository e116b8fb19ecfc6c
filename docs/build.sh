#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation site, offline: OUT/html/index.html. Warnings, such as a link that leads nowhere, are errors.
#
#   docs/build.sh [OUT]     default build/docs
#
# Needs python3-sphinx, python3-myst-parser and furo. UVMSIM is the command that the reference is made from, default
# build/release/bin/uvmsim; UVMTRACE the other one, beside it, left out where it is not built; PYTHON an interpreter
# that sees the packages, default /usr/bin/python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out="$(realpath -m "${1:-build/docs}")"
uvmsim="$(realpath "${UVMSIM:-build/release/bin/uvmsim}")"
uvmtrace="$(realpath -m "${UVMTRACE:-$(dirname "$uvmsim")/uvmtrace}")"
python="${PYTHON:-/usr/bin/python3}"
[[ -x "$uvmsim" ]] || { echo "docs/build.sh: error: no command $uvmsim; build it, or name another one in UVMSIM" >&2; exit 2; }

# Pages link to files all over the repository, and to the reference, so Sphinx reads a copy of it with the reference in it.
rm -rf "$out/mirror"
mkdir -p "$out/mirror"
tar --create --exclude=./.git --exclude=./.cache --exclude=./build --exclude=./results --exclude=__pycache__ \
  --exclude="./$(realpath --relative-to=. "$out")" . | tar --extract -C "$out/mirror"
"$python" -B docs/make_reference.py "$uvmsim" "$uvmtrace" "$out/mirror/docs/reference"

export UVMSIM_DOCS_MIRROR="$out/mirror"
UVMSIM_DOCS_VERSION="$("$uvmsim" --version | cut -d ' ' -f 2)" "$python" -B -m sphinx -W --keep-going -q \
  -c docs -d "$out/doctrees" "$out/mirror" "$out/html"
echo "$out/html/index.html"
