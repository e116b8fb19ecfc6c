#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the times of the kernels of whole training steps with every tensor on the GPU, and with every tensor in
pinned host memory.

    remote_steps.py ALLOCATOR.so OUTPUT.jsonl MODEL[,MODEL...]

ALLOCATOR.so is built beside uvm_experiments (uvm_placed_allocator). The models are those of
workloads/recipes/paper_models.py. There is a line per kernel name of a model: `model`, `kernel`, `count`,
`device_ns` and `remote_ns` (sums over a settled step, by CUPTI's activity records, which change no kernel's time),
and `launches`: grid, block, and both times of each, in order.
"""
import argparse
import ctypes
import json
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def step_of(torch, paper_models, name):
    """Returns a function for one training step, after allocating everything that outlives a step."""
    model, inputs, loss_of = paper_models.MODELS[name](0)
    model = model.train().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step():
        on_gpu = [tensor.cuda() for tensor in inputs]
        optimizer.zero_grad()
        loss_of(model, *on_gpu).backward()
        optimizer.step()

    return step


def lines_of(name, kernels):
    """Groups by kernel name: the n-th launch of a name in one step is matched with the n-th in the other, because
    streams may change the order of launches."""
    launches = {}
    for place in ("device", "remote"):
        for kernel in kernels[place]:
            launches.setdefault(kernel["name"], {"device": [], "remote": []})[place].append(kernel)
    for kernel, both in launches.items():
        pairs = [[a["args"]["grid"], a["args"]["block"], round(a["dur"] * 1000), round(b["dur"] * 1000)]
                 for a, b in zip(both["device"], both["remote"])]
        yield {"model": name, "kernel": kernel, "count": len(pairs), "device_ns": sum(pair[2] for pair in pairs),
               "remote_ns": sum(pair[3] for pair in pairs), "launches": pairs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("allocator")
    parser.add_argument("output")
    parser.add_argument("models")
    options = parser.parse_args()
    path = os.path.abspath(options.allocator)
    library = ctypes.CDLL(path)
    import torch

    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "placed_allocate", "placed_release")
    torch.cuda.memory.change_current_allocator(allocator)
    sys.path.insert(0, os.path.join(TOP, "workloads", "recipes"))
    import paper_models
    import recipe
    from remote_calls import recorded_kernels

    with open(options.output, "w", encoding="utf-8") as out:
        for name in options.models.split(","):
            kernels = {}
            for number, place in enumerate(("device", "remote")):
                recipe.prepare(0)
                library.placed_put_on(number)
                step = step_of(torch, paper_models, name)
                step()
                torch.cuda.synchronize()
                kernels[place] = recorded_kernels(torch, step, 1, options.output + ".trace")
                library.placed_put_on(0)
                del step
                library.placed_trim()
                total = sum(kernel["dur"] for kernel in kernels[place]) / 1000
                print(f"{name} {place}: {len(kernels[place])} kernels, {total:.1f} ms", flush=True)
            if len(kernels["device"]) != len(kernels["remote"]):
                print(f"remote_steps: {name}: other kernels when remote", file=sys.stderr)
            for line in sorted(lines_of(name, kernels), key=lambda line: -line["remote_ns"]):
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
            out.flush()
    os.remove(options.output + ".trace")


if __name__ == "__main__":
    main()
