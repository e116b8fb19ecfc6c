#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Matrix products, attention and convolutions whose operands are known, for the tensor maps that libraries make.

usage: library_maps.py run EXPECTED.jsonl            under both passes, with NVTX ranges
       library_maps.py check EXPECTED.jsonl TRACE.jsonl ACCESS.jsonl

Both runs of a recording write EXPECTED.jsonl, so that it has the addresses of the second run, while the trace has
those of the first. The log of the access pass has the allocations of the second run, in the same order.

Each case is one NVTX range with one library call in it. Its operands must be read and its outputs written, both
completely. Nothing else may be touched except workspaces: memory outside of the case's tensors.
"""
import json
import sys

from check_answers import events, size, union, units, without
from check_maps import MODES, QUANTUM, moved_runs, places_of


def cases():
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    device = "cuda"

    def values(*shape, dtype=torch.bfloat16, layout=None):
        out = torch.randn(*shape, device=device, dtype=torch.float32).to(dtype)
        return out if layout is None else out.to(memory_format=layout)

    for dtype in (torch.bfloat16, torch.float16):
        for m, n, k in ((4096, 3072, 1024), (512, 512, 512), (16384, 1024, 4096)):
            a, b, c = values(m, k, dtype=dtype), values(k, n, dtype=dtype), torch.empty(m, n, device=device, dtype=dtype)
            yield f"mm {dtype} {m} {n} {k}", lambda: torch.mm(a, b, out=c), [a, b], [c]
            d = values(n, k, dtype=dtype)
            yield f"mm_t {dtype} {m} {n} {k}", lambda: torch.mm(a, d.t(), out=c), [a, d], [c]
    x, w, bias = values(4096, 768), values(3072, 768), values(3072)
    y = torch.empty(4096, 3072, device=device, dtype=torch.bfloat16)
    yield "addmm", lambda: torch.addmm(bias, x, w.t(), out=y), [x, w, bias], [y]
    p, q, r = values(24, 1024, 64), values(24, 64, 1024), torch.empty(24, 1024, 1024, device=device, dtype=torch.bfloat16)
    yield "bmm", lambda: torch.bmm(p, q, out=r), [p, q], [r]
    query, key, value = (values(2, 12, 1024, 64) for _ in range(3))
    kept = []

    def attention():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            kept.append(torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=False))
    yield "attention", attention, [query, key, value], kept
    image, filters = values(32, 64, 56, 56, layout=torch.channels_last), values(128, 64, 3, 3, layout=torch.channels_last)
    out = []

    def convolution():
        out.append(torch.nn.functional.conv2d(image, filters, padding=1))
    yield "conv2d", convolution, [image, filters], out


def run(path):
    import torch
    torch.manual_seed(0)
    with open(path, "w", encoding="utf-8") as expected:
        for name, call, operands, outputs in cases():
            torch.cuda.synchronize()
            call()  # the first call initialises the library
            outputs_before = len(outputs)
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_push(f"case {name}")
            call()
            torch.cuda.nvtx.range_pop()
            torch.cuda.synchronize()
            made = outputs[-1:] if len(outputs) > outputs_before else outputs
            place = lambda t: [t.data_ptr(), t.numel() * t.element_size()]
            expected.write(json.dumps({"t": "case", "name": name, "read": [place(t) for t in operands],
                                       "written": [place(t) for t in made]}) + "\n")


def quanta(tensors, mode):
    return [[va // QUANTUM, (va + count - 1) // QUANTUM - va // QUANTUM + 1, mode] for va, count in tensors]


def kernels_by_case(path):
    places, objects, out, case = {}, [], {}, None
    for record in events(path):
        if record["t"] == "object_alloc":
            places[record["id"]] = record.get("va", 0)
            objects.append([record.get("va", 0), record["bytes"]])
        elif record["t"] == "tensor_alloc":
            places[record["id"]] = places.get(record.get("object", 0), 0) + record.get("offset", 0)
        elif record["t"] == "range":
            name = record.get("name", "")
            case = name[5:] if name.startswith("case ") else None
        elif record["t"] == "kernel" and case is not None:
            runs = [[places.get(thing, 0) // QUANTUM + first, count, MODES[mode]]
                    for thing, extents in record["accesses"] for first, count, mode in extents]
            out.setdefault(case, []).append((record, runs))
    return objects, out


def check(expected, trace, access):
    wrong = 0
    objects, recorded = kernels_by_case(trace)
    # Large segments, which contain the tensors.
    allocations = [[event["va"], event["bytes"]] for event in events(access)
                   if event["t"] == "alloc" and event["kind"] == "device" and event["bytes"] >= 1 << 20]
    places = places_of(allocations, [item for item in objects if item[1] >= 1 << 20])
    print(f"{'case':<34} {'read':>8} {'missing':>8} {'written':>8} {'missing':>8} {'wrong way':>9}  kernels")
    for want in events(expected):
        kernels = recorded.get(want["name"], [])
        runs = union([runs for _, runs in kernels])
        reads, writes = (moved_runs(quanta(want[way], mode), allocations, places)
                         for way, mode in (("read", 1), ("written", 2)))
        missing = [without(units(reads, 1), units(runs, 1)), without(units(writes, 2), units(runs, 2))]
        # Counts operands that are written and outputs that are read.
        crossed = (size(units(reads, 1)) - without(units(reads, 1), units(runs, 2))
                   + size(units(writes, 2)) - without(units(writes, 2), units(runs, 1)))
        bad = any(missing) or crossed or not kernels
        names = ", ".join(f"{k['name'][:40]} ({k.get('coverage', 'instrumented')})" for k, _ in kernels)
        print(f"{want['name']:<34} {size(units(reads, 1)):>8} {missing[0]:>8} {size(units(writes, 2)):>8} {missing[1]:>8}"
              f" {crossed:>9}  {names}{'  WRONG' if bad else ''}")
        wrong += bool(bad)
    print("PASS" if wrong == 0 else f"FAIL: {wrong} cases")
    return wrong != 0


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "run":
        sys.exit(run(sys.argv[2]))
    if len(sys.argv) == 5 and sys.argv[1] == "check":
        sys.exit(check(sys.argv[2], sys.argv[3], sys.argv[4]))
    sys.exit(__doc__)
