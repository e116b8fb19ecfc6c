#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests of the gate notice when the model is wrong? Each mutation below changes one branch or constant of the
model; then at
least one of the gate's tests must fail. It takes minutes, rebuilds for every mutation and restores every file, so
that it is run by
hand and not in the gate.

usage: mutate_model.py BUILD_DIR [NUMBER...]

BUILD_DIR is a configured build (cmake --preset test). The tests named with a mutation run first, and the whole gate
if they
pass. The exit code is 1 if the gate misses a mutation."""

import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent

# The error that the mutation makes, the file, the text to replace, its replacement, the tests to run first.
MUTATIONS = [
    ("a page thrashes one event late", "sim/driver/thrashing.cpp", "page.events == threshold", "page.events == threshold + 1",
     "baselines driver_test"),
    ("the thread serves one batch too many before it leaves", "sim/engine/fault_loop.cpp",
     "batches_this_service_ >= config", "batches_this_service_ > config", "baselines engine_test"),
    ("an SM raises one fault too few", "sim/engine/kernel_run_faults.cpp",
     "if (missed == next.first) {", "if (missed == next.first && next.left != 1) {", "baselines engine_test"),
    ("an equal access is not merged while it is read", "sim/gmmu/fault_buffer.cpp",
     "group.access <= newest.fault.access", "group.access < newest.fault.access", "baselines gmmu_test"),
    ("the TLB forgets the wrong entry", "sim/gmmu/tlb.cpp", "way + 1 < ways_", "way + 2 < ways_", "baselines gmmu_test"),
    ("chunks are used again in the other order", "sim/memory/gpu_memory.cpp",
     "reuse == Reuse::kNext", "reuse != Reuse::kNext", "baselines memory_test"),
    ("the first run of a push costs no latency", "sim/link/copy_engine.cpp",
     "first_ ? rates_.latency : rates_.run", "first_ ? rates_.run : rates_.run", "baselines link_test"),
    ("discarded chunks are evicted after used ones", "policies/evict/lrm.cpp",
     "kUnused, kDiscarded, kUsed, kListCount", "kUnused, kUsed, kDiscarded, kListCount", "baselines policy_test"),
    ("a region at the threshold is dense", "sim/policy/density_tree.cpp",
     "counts_[(kPagesPerBlock >> height) + index] * 100u >", "counts_[(kPagesPerBlock >> height) + index] * 100u >=",
     "baselines policy_test"),
    ("an access counter notifies one access late", "sim/driver/access_counters.cpp",
     "if (region.accesses < threshold) return;", "if (region.accesses <= threshold) return;", "baselines driver_test"),
]


def run(*command):
    return subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def failing_test(build, tests):
    """Returns the first test of the gate that fails, or None. `tests` run first."""
    programs = [test for test in tests.split() if test != "baselines"]
    for targets, selection in ((["uvmsim_cli"], "^baselines$"), (programs, "|".join(rf"^{p}(\.|$)" for p in programs)),
                               (["uvmsim_gate"], None)):
        built = run("cmake", "--build", build, "--target", *targets)
        if built.returncode != 0:
            return "the compiler: " + built.stdout[-200:]
        chosen = ["-R", selection] if selection else []
        ran = run("ctest", "--test-dir", build, "-LE", "^all$", "--stop-on-failure", "--output-on-failure", *chosen)
        if ran.returncode != 0:
            case = re.search(r"\[  FAILED  \] ([\w/.]+)", ran.stdout)
            test = re.search(r"\d+ - (\S+) \(", ran.stdout)
            return " ".join(match[1] for match in (test, case) if match)
    return None


def main():
    build = str(pathlib.Path(sys.argv[1]).resolve())
    chosen = [int(number) for number in sys.argv[2:]] or range(1, len(MUTATIONS) + 1)
    missed = 0
    for number in chosen:
        what, name, old, new, tests = MUTATIONS[number - 1]
        path = SOURCE / name
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{name}: has '{old}' {text.count(old)} times; allowed: once")
        try:
            path.write_text(text.replace(old, new))
            failed = failing_test(build, tests)
        finally:
            path.write_text(text)
        missed += failed is None
        print(f"{number:2} {what} ({name}): {'caught by ' + failed if failed else 'NOT CAUGHT'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
