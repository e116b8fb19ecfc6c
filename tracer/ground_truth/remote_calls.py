#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the times of single PyTorch calls whose inputs or outputs stay in host memory, for `uvmsim validate`. It
writes a line per call and variant, in the form of library calls (sim/validate/README.md); `remote` names the side
that stays on the host.

    remote_calls.py ALLOCATOR.so OUTPUT.jsonl [--list first|classes|both] [--only TEXT] [--seconds N]

ALLOCATOR.so is built beside uvm_experiments (uvm_placed_allocator). The memory is pinned and nothing is managed, so
there are no faults and no migrations. Each call runs in three variants: with everything on the GPU, with its inputs
on the host, and with the memory that it allocates (including workspaces) on the host. The first run of each is not
counted. Times are durations of kernels from CUPTI's activity records, the median of three calls. These records do
not change a kernel's time, whereas the time between events around a call would include its launches. Calls whose
kernels differ from run to run are left out and named.
"""
import argparse
import ctypes
import json
import os
import sys
import time

import call_classes
import library_calls

PLACES = ("device", "inputs_remote", "outputs_remote")


def every_call(options, torch):
    if options.list in ("first", "both"):
        yield from library_calls.calls(torch)
    if options.list in ("classes", "both"):
        yield from call_classes.calls(torch)


def recorded_kernels(torch, call, repeats, path):
    """Returns the kernels of `repeats` calls, in order, as the profiler's file describes them."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as recording:
        for _ in range(repeats):
            call()
            torch.cuda.synchronize()
    recording.export_chrome_trace(path)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"])


class Timer:
    def __init__(self, torch, scratch):
        self.torch = torch
        self.scratch = scratch  # name of a file

    def elapsed_ms(self, call):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    def kernels(self, call, repeats):
        """Returns the kernels of one call, and the durations of each in ns; None if calls differ."""
        found = recorded_kernels(self.torch, call, repeats, self.scratch)
        count = len(found) // repeats
        runs = [found[i * count:(i + 1) * count] for i in range(repeats)]
        if len(found) % repeats or any([k["name"] for k in run] != [k["name"] for k in runs[0]] for run in runs):
            return None
        kernels = [{"kernel": k["name"], "grid": k["args"]["grid"], "block": k["args"]["block"],
                    "registers": k["args"].get("registers per thread", 0),
                    "shared_bytes": k["args"].get("shared memory", 0)} for k in runs[0]]
        return kernels, [[round(k["dur"] * 1000) for k in run] for run in runs]


def lines_of(name, call):
    """Returns a line per side that was remote."""
    def middle(place):
        return [sorted(times)[len(times) // 2] for times in zip(*call[place + "_kernel_ns"])]

    native = middle("device")
    for place, sides in (("inputs_remote", {"inputs_on": "remote", "outputs_on": "nowhere"}),
                         ("outputs_remote", {"inputs_on": "gpu", "outputs_on": "remote"})):
        if place + "_kernel_ns" not in call:
            continue
        events, start = [], 0
        for kernel, native_ns, ns in zip(call["kernels"], native, middle(place)):
            events.append({**kernel, "start_ns": start, "end_ns": start + ns, "native_ns": native_ns})
            start += ns
        yield {"name": name, **sides, "note": "", "tensors": call["tensors"], "events": events}


def described(role, tensors):
    """Describes each tensor once, even if a call takes it twice."""
    lines, seen = [], set()
    for i, tensor in enumerate(tensors):
        if tensor.numel() and tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            lines.append(library_calls.described(f"{role[:-3]}{i}", role, tensor))
    return lines


def measured(torch, library, timer, inputs, call):
    call(*inputs)
    torch.cuda.synchronize()
    outputs = library_calls.flat(call(*inputs), torch)
    torch.cuda.synchronize()
    line = {"tensors": described("input", inputs) + described("output", outputs)}
    del outputs
    copies = []
    if inputs:
        library.placed_put_on(1)
        same = {}
        for tensor in inputs:
            if tensor.data_ptr() not in same:
                same[tensor.data_ptr()] = tensor.clone(memory_format=torch.preserve_format)
            copies.append(same[tensor.data_ptr()])
        torch.cuda.synchronize()
        library.placed_put_on(0)
    for place in PLACES:
        if place == "inputs_remote" and not inputs:
            continue
        arguments = copies if place == "inputs_remote" else inputs
        library.placed_put_on(1 if place == "outputs_remote" else 0)
        call(*arguments)
        torch.cuda.synchronize()
        slow = timer.elapsed_ms(lambda: call(*arguments)) > 50
        found = timer.kernels(lambda: call(*arguments), 1 if slow else 3)
        library.placed_put_on(0)
        if found is None:
            return None, "its kernels differ from call to call"
        if line.setdefault("kernels", found[0]) != found[0]:
            return None, f"other kernels with {place.replace('_', ' ')}"
        line[place + "_kernel_ns"] = found[1]
    return line, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("allocator")
    parser.add_argument("output")
    parser.add_argument("--list", choices=("first", "classes", "both"), default="both")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=600, help="stop after so many, with what is there")
    options = parser.parse_args()
    began = time.monotonic()
    path = os.path.abspath(options.allocator)
    library = ctypes.CDLL(path)
    import torch

    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "placed_allocate", "placed_release")
    torch.cuda.memory.change_current_allocator(allocator)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    timer = Timer(torch, options.output + ".trace")
    made = left = 0
    with open(options.output + ".part", "w", encoding="utf-8") as out:
        for name, inputs, call in every_call(options, torch):
            if options.only not in name:
                continue
            if time.monotonic() - began > options.seconds:
                left += 1
                continue
            try:
                line, reason = measured(torch, library, timer, inputs, call)
            except RuntimeError as error:
                line, reason = None, str(error).split("\n", maxsplit=1)[0]
                library.placed_put_on(0)
            if line:
                for text in lines_of(name, line):
                    out.write(json.dumps(text, separators=(",", ":")) + "\n")
                made += 1
            else:
                print(f"remote_calls: {name} left out: {reason}", file=sys.stderr)
            library.placed_trim()
    os.rename(options.output + ".part", options.output)
    if os.path.exists(options.output + ".trace"):
        os.remove(options.output + ".trace")
    print(f"{made} calls in {options.output}" + (f", {left} not reached in time" if left else ""))


if __name__ == "__main__":
    main()
