#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU: builds the timing pass, runs smoke.cu under it and says PASS or FAIL for every kind of event,
# and what recording costs. Needs the CUDA toolkit, a C++ compiler, CMake and python3; uses PyTorch where it is there.
# Exit status 0 when everything passed.
# Usage: tracer/timing/gpu_smoke.sh [build folder]        the logs stay in <build folder>/smoke
set -u
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
here="$root/tracer/timing"
build="${1:-$root/build/tracer-gpu}"
cuda="${CUDA_HOME:-/usr/local/cuda}"
export PATH="$cuda/bin:$PATH"
logs="$build/smoke"
rm -rf "$logs" && mkdir -p "$logs" || exit 1

cmake -S "$root/tracer" -B "$build" >"$logs/configure.txt" 2>&1 || { cat "$logs/configure.txt"; exit 1; }
cmake --build "$build" --target uvmtrace_timing -j8 >"$logs/build.txt" 2>&1 || { tail -40 "$logs/build.txt"; exit 1; }
library="$(find "$build" -name libuvmtrace_timing.so | head -1)"
stubs=(-lcuda "-L$cuda/lib64/stubs")
nvcc -std=c++17 -O1 -arch=native -o "$logs/smoke" "$here/smoke.cu" "${stubs[@]}" || exit 1
# The calls of programs with a default stream for each thread have other names.
nvcc -std=c++17 -O1 -arch=native --default-stream per-thread -o "$logs/smoke_per_thread" "$here/smoke.cu" "${stubs[@]}" ||
  exit 1

failed=0
fail() { echo "FAIL $1"; failed=1; }
recorded() {  # recorded NAME COMMAND...: runs under the library, leaves the log in $log
  mkdir -p "$logs/$1"
  UVMTRACE_LOG_DIR="$logs/$1" CUDA_INJECTION64_PATH="$library" NVTX_INJECTION64_PATH="$library" "${@:2}"
  local status=$?
  log="$(ls "$logs/$1"/timing.*.jsonl 2>/dev/null | head -1)"
  return $status
}

echo "== natively"
"$logs/smoke" || { fail "the program fails without the library"; exit 1; }
echo "== under $library"
recorded plain "$logs/smoke" || fail "exit status"
python3 "$here/check_smoke.py" "$log" || failed=1
echo "== with default streams for each thread"
recorded per_thread "$logs/smoke_per_thread" || fail "exit status"
python3 "$here/check_smoke.py" "$log" | grep -v "^PASS\|^   " ; [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1

echo "== cost of recording"
for _ in 1 2; do
  "$logs/smoke" launches 200000
  recorded launches "$logs/smoke" launches 200000 | sed 's/$/ (recorded)/'
done
log="$(ls -t "$logs"/launches/timing.*.jsonl | head -1)"
python3 "$here/check_smoke.py" "$log" --pairs || failed=1

echo "== without a log folder: one line, and the program goes on"
CUDA_INJECTION64_PATH="$library" "$logs/smoke" launches 1000 || fail "exit status"

echo "== a killed program"
mkdir -p "$logs/killed"
UVMTRACE_LOG_DIR="$logs/killed" CUDA_INJECTION64_PATH="$library" "$logs/smoke" repeat 30 &
child=$!
sleep 5
kill -9 "$child"
wait "$child" 2>/dev/null
python3 "$here/check_smoke.py" "$(ls "$logs"/killed/timing.*.jsonl)" --killed || failed=1

echo "== CUPTI held by the program itself: one line with its name"
if g++ -std=c++17 -isystem "$cuda/include" -isystem "$cuda/extras/CUPTI/include" -o "$logs/smoke_busy" \
  "$here/smoke_busy.cpp" -L"$cuda/lib64" -L"$cuda/extras/CUPTI/lib64" -lcupti "${stubs[@]}" \
  -Wl,-rpath,"$cuda/lib64:$cuda/extras/CUPTI/lib64"; then
  recorded busy "$logs/smoke_busy" 2>"$logs/busy.txt" || fail "exit status"
  cat "$logs/busy.txt"
  grep -q "^uvmtrace: another profiler already uses CUPTI: .*smoke" "$logs/busy.txt" || fail "names the holder"
  [ -z "$log" ] || fail "left a log"
fi

if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  echo "== PyTorch: a captured graph, three replays"
  recorded torch python3 - <<'PYTHON' || fail "exit status"
import torch
x = torch.randn(256, 256, device="cuda")
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256)).cuda()
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    for _ in range(3):
        model(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.cat([model(x), torch.zeros_like(x)]).clone()
for _ in range(3):
    graph.replay()
torch.cuda.synchronize()
print("smoke: sum %.3f" % y.sum().item())
PYTHON
  python3 "$here/check_smoke.py" "$log" --pairs || failed=1
fi
[ "$failed" -eq 0 ] && echo "all passed" || echo "something FAILED"
exit "$failed"
