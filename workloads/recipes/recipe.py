# SPDX-License-Identifier: Apache-2.0
"""The common part of all recipes: reproducible settings, iteration marks, and the report of each iteration.

Losses go to stdout with full precision, so that a traced run can be compared with an untraced one; times and memory go
to stderr, as they differ from run to run.
"""

import argparse
import sys
import time

import torch

try:
    import uvmtrace  # there when the program runs under `uvmtrace record --torch`
except ImportError:
    uvmtrace = None


def options(description, iterations):
    """`iterations`: the default, None when main() chooses it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--iterations", type=int, default=iterations, help="how many; by default what the README lists")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def prepare(seed, default_precision=False):
    """Fixed seeds and no choice by timing: all passes of the tracer must launch the same kernels.

    TF32 is off, or as PyTorch ships it with `default_precision`: on in cuDNN's convolutions, off in matrix products.
    """
    torch.manual_seed(seed)
    torch.backends.cudnn.benchmark = False
    if not default_precision:
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False


def mark_iteration():
    """The previous iteration ends, the next one begins."""
    if uvmtrace is not None:
        uvmtrace.iteration()


def run_iterations(count, iterate, label="loss"):
    """Calls iterate(index) `count` times; it returns a one-element tensor or a number, which is printed."""
    for index in range(count):
        mark_iteration()
        begin = time.perf_counter()
        value = iterate(index)
        value = value.item() if isinstance(value, torch.Tensor) else value
        torch.cuda.synchronize()
        milliseconds = (time.perf_counter() - begin) * 1e3
        print(f"iteration {index} {label} {value!r}", flush=True)
        print(f"iteration {index} took {milliseconds:.1f} ms", file=sys.stderr)
    mebibyte = 1 << 20
    print(
        f"peak allocated {torch.cuda.max_memory_allocated() / mebibyte:.0f} MiB, "
        f"reserved {torch.cuda.max_memory_reserved() / mebibyte:.0f} MiB",
        file=sys.stderr,
    )
