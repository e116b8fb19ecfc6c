#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the wall times of whole training steps on managed memory without a listener.

    whole_models.py RECORDER.so OUTPUT.jsonl MODEL[,MODEL...] [--iterations N] [--seconds S]

RECORDER.so is built beside uvm_experiments. The models are those of workloads/recipes/paper_models.py, which names
its requirements. Every tensor is one managed allocation, freed when it dies. Two variants alternate, with a line
each:
  new    memory that lives from step to step (weights, momentum) stays on the GPU; everything else is new memory in
         each step
  host   before each step everything that lives is moved to the host, so that the step fetches it by faults
The first step of each variant is left out of its times. --seconds: begin no model after this time.
"""
import argparse
import ctypes
import json
import os
import sys
import time

import managed_training


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorder")
    managed_training.add_options(parser)
    parser.add_argument("--iterations", type=int, default=4)
    options = parser.parse_args()

    def say(text):
        print(f"whole_models: {text}", file=sys.stderr)

    import torch  # noqa: F401 (before the recorder: it crashes when it finds CUPTI loaded)

    from library_calls import Recorder

    recorder = Recorder(os.path.abspath(options.recorder), record=False)
    recorder.library.uvm_move_all_to_host.restype = ctypes.c_ulonglong
    recorder.library.uvm_ask_once()
    host = recorder.host_speed()
    allocator = managed_training.use_managed_memory(os.path.abspath(options.recorder))  # noqa: F841 (kept alive)
    with open(options.output + ".part", "w", encoding="utf-8") as out:
        for name in managed_training.models_in_time(options, say):
            try:
                lines = steps_of(name, recorder, options.iterations)
            except (RuntimeError, ImportError) as error:
                say(f"{name} left out: {str(error).splitlines()[0]}")
                continue
            for line in lines:
                out.write(json.dumps({"model": name, **line, "host": host}) + "\n")
                print(name, line["way"], line["wall_ms"], file=sys.stderr)
            out.flush()
    os.rename(options.output + ".part", options.output)


def steps_of(name, recorder, iterations):
    import torch

    step = managed_training.training_step(name)
    times, moved = {"new": [], "host": []}, 0
    for way in ("new", "host"):
        for _ in range(iterations):
            if way == "host":
                moved = recorder.library.uvm_move_all_to_host()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            step()
            torch.cuda.synchronize()
            times[way].append(round((time.perf_counter() - begin) * 1e3, 1))
    return [{"way": way, "wall_ms": times[way][1:], "moved_bytes": moved if way == "host" else 0} for way in times]


if __name__ == "__main__":
    main()
