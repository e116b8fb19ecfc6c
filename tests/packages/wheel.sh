#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wheel, made of a build folder that has the module and the command, in an empty virtual environment.
# usage: wheel.sh BUILD_DIR PYTHON
set -euo pipefail
build="$1"
python="$2"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# pip leaves files beside setup.py, so from a copy of what it reads.
mkdir "$scratch/source"
cp "$root"/{setup.py,pyproject.toml,CMakeLists.txt} "$scratch/source"
"$python" -m venv --system-site-packages "$scratch/venv"
before="$(cd "$scratch/venv" && find . | sort)"
unset PYTHONPATH
UVMSIM_BUILD_DIR="$build" "$scratch/venv/bin/pip" --quiet --disable-pip-version-check install --no-build-isolation --no-index \
  "$scratch/source"
bin="$scratch/venv/bin"

mkdir "$scratch/work"
cd "$scratch/work"
echo "the command, with its own systems"
[[ "$("$bin/uvmsim" --version)" == "uvmsim $(sed -n 's/^  VERSION //p' "$root/CMakeLists.txt")" ]]
"$bin/uvmsim" systems --json | grep "\"path\": \"$scratch/venv/lib/.*/share/uvmsim/configs/systems/h200-sxm-pcie5.json\"" >/dev/null
"$bin/uvmsim" trace generate sequential --bytes 16MiB --repeats 2 -o small.uvmt
"$bin/uvmsim" run small.uvmt --system h200-sxm-pcie5 --osf 1,2 --json small.jsonl >/dev/null

echo "analysis"
"$bin/python" -B -m analysis.plot_osf small.jsonl -o small
[[ -s small.png ]]

echo "the module, with the same systems and the same results"
cat >same.py <<'END'
import json
import uvmsim

ran = uvmsim.run("small.uvmt", "h200-sxm-pcie5", osf=[1, 2])
assert [json.loads(line)["total_ns"] for line in open("small.jsonl")] == [one["total_ns"] for one in ran]
assert uvmsim.__file__.startswith(__import__("sys").prefix), uvmsim.__file__
END
"$bin/python" -B same.py

echo "every module that the source tree has"
"$python" -B "$root/tests/packages/python_version.py" "$root"
cd "$root"
modules="$(find python/uvmsim analysis -name '*.py' -not -path '*/examples/*' -not -path '*/figures/*' |
  sed -e 's|^python/||' -e 's|\.py$||' -e 's|/__init__$||' -e 's|/|.|g' -e '/__main__$/d' | sort)"
cd "$scratch/work"
[[ "$(wc -l <<<"$modules")" -gt 30 ]]
"$bin/python" -B - $modules <<'END'
import importlib
import sys

for name in sys.argv[1:]:
    file = importlib.import_module(name).__file__
    assert file.startswith(sys.prefix), file
print(len(sys.argv) - 1, "modules")
END

echo "the example of the module"
mkdir -p notebook/analysis/examples
cp "$root/analysis/examples/python_policy.py" notebook/analysis/examples
ln -s "$root/workloads" notebook/workloads
"$bin/python" -B notebook/analysis/examples/python_policy.py >example.txt
sed -n 1,2p example.txt
[[ "$(grep -c "same result: True" example.txt)" == 2 ]]

echo "uninstalled, nothing is left"
"$bin/pip" --quiet --disable-pip-version-check uninstall --yes uvmsim
after="$(cd "$scratch/venv" && find . -not -name '*.pyc' -not -name __pycache__ | sort)"
diff <(grep -v '__pycache__' <<<"$before") <(echo "$after")
