#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ground truth from single PyTorch calls on managed memory, for `uvmsim validate` (sim/validate/README.md).

    library_calls.py RECORDER.so OUTPUT.jsonl [--list first|classes|mobile] [--only TEXT] [--outputs host|nowhere|both]
                     [--inputs gpu|host|both] [--times N] [--seconds S] [--percent P]
                     [--all]

RECORDER.so is built beside uvm_experiments. Outputs and workspaces are first on the host, so that the transfers show
which pages each fault batch held, or nowhere, as for the first touches of a program. Inputs are on the GPU. With
--inputs host or both each call is also made with its inputs on the host and its outputs nowhere, except for gathers,
which read only a part of them. Calls that fail, that make other allocations each time, or whose records CUPTI
dropped, are left out and named. Without --all, calls with several kernels, or with workspaces larger than a
hundredth of their outputs, are left out and named too, because `validate` assumes that every kernel touches all of
every tensor. --list classes, mobile: the calls of call_classes.py.

CUPTI makes calls slower while it listens. A second process without a listener therefore makes the same calls,
alternating with this one: N times each (5), timed by CUDA events, written as `unobserved`. --seconds: begin no call
after this time. --percent: only this part of the calls, chosen by the SHA-256 of their names.

Under `uvmtrace faults -o LOG -- library_calls.py ... --times 0` every call is a section of the log of raw faults;
`raw_lines.py --calls OUTPUT.jsonl LOG` then adds the contents of their batches to the lines.
"""
import argparse
import ctypes
import hashlib
import importlib
import json
import multiprocessing
import os
import sys
import time

import call_classes

BLOCK = 2 << 20
PLACES = {"nowhere": 0, "host": 1, "gpu": 2}
PAUSE_CYCLES = 400_000  # some 0.2 ms: longer than launching a call
KINDS = {1: "htod", 2: "dtoh", 3: "cpu_fault", 4: "gpu_fault", 5: "thrashing", 7: "remote_map"}


class FaultSections:
    """Sections of the log of raw faults, if `uvmtrace faults` runs this script: one per call."""

    def __init__(self):
        path = os.environ.get("CUDA_INJECTION64_PATH", "")
        self.library = ctypes.CDLL(path) if os.path.basename(path) == "libuvmtrace_faults.so" else None

    def begin(self, name):
        if self.library:
            self.library.uvmtrace_faults_section(name.encode())


FAULT_SECTIONS = FaultSections()


class Recorder:
    def __init__(self, path, record=True):
        self.library = ctypes.CDLL(path)
        for name in ("uvm_start", "uvm_take", "uvm_host_speed"):
            getattr(self.library, name).restype = ctypes.c_char_p
        for name in ("uvm_prepared_address", "uvm_prepared_bytes"):
            getattr(self.library, name).restype = ctypes.c_ulonglong
        problem = self.library.uvm_start(0, int(record)).decode()
        if problem:
            sys.exit(f"library_calls: {problem}")

    def take(self):
        return json.loads(self.library.uvm_take())

    def host_speed(self):
        return json.loads(self.library.uvm_host_speed())

    def move_to_host(self, tensor):
        self.library.uvm_move_to_host(ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(size_of(tensor)))

    def prepared(self, count):
        return [(self.library.uvm_prepared_address(i), self.library.uvm_prepared_bytes(i)) for i in range(count)]


def size_of(tensor):
    return tensor.numel() * tensor.element_size()


def calls(torch):
    """Yields name, inputs and the call."""
    f = torch.nn.functional

    def tensor(*shape):
        return torch.randn(*shape, device="cuda")

    mib = 1 << 18  # floats
    for size in (4, 16, 64):
        yield f"relu_{size}m", [tensor(size * mib)], torch.relu
    yield "gelu_16m", [tensor(16 * mib)], f.gelu
    yield "add_32m", [tensor(16 * mib), tensor(16 * mib)], torch.add
    yield "add_broadcast_16m", [tensor(4096, 1024), tensor(1024)], torch.add
    yield "transpose_copy_16m", [tensor(2048, 2048)], lambda x: x.t().contiguous()
    yield "permute_copy_24m", [tensor(32, 12, 256, 64)], lambda x: x.permute(0, 2, 1, 3).contiguous()
    yield "slice_copy_8m", [tensor(2048, 2048)], lambda x: x[:, :1024].contiguous()
    yield "cat_16m", [tensor(1024, 2048), tensor(1024, 2048)], lambda a, b: torch.cat([a, b], 1)
    yield "masked_fill_16m", [tensor(2048, 2048)], lambda x: torch.where(x > 0, x, 0.5)
    yield "dropout_16m", [tensor(16 * mib)], lambda x: torch.native_dropout(x, 0.1, True)
    yield "layernorm_16m", [tensor(4096, 1024)], lambda x: torch.native_layer_norm(x, [1024], None, None, 1e-5)
    yield "softmax_16m", [tensor(8192, 512)], lambda x: torch.softmax(x, -1)
    yield "log_softmax_32m", [tensor(256, 32768)], lambda x: torch.log_softmax(x, -1)
    yield "sum_dim0_32m", [tensor(8192, 1024)], lambda x: x.sum(0)
    yield "maxpool_64m", [tensor(16, 64, 128, 128)], lambda x: f.max_pool2d(x, 2, return_indices=True)
    yield "maxpool3x3_64m", [tensor(16, 64, 128, 128)], lambda x: f.max_pool2d(x, 3, 2, 1, return_indices=True)
    yield "avgpool_64m", [tensor(16, 64, 128, 128)], lambda x: f.avg_pool2d(x, 2)
    yield "upsample_32m", [tensor(8, 64, 64, 64)], lambda x: f.interpolate(x, scale_factor=2)
    for rows, inner, columns in ((4096, 768, 3072), (4096, 3072, 768), (6304, 768, 3072), (2048, 2048, 2048),
                                 (512, 4096, 4096), (8192, 512, 512)):
        yield f"matmul_{rows}x{inner}x{columns}", [tensor(rows, inner), tensor(inner, columns)], torch.mm
        yield f"matmul_nt_{rows}x{inner}x{columns}", [tensor(rows, inner), tensor(columns, inner)], lambda a, b: a @ b.t()
    yield "matmul_tn_768x4096x3072", [tensor(4096, 768), tensor(4096, 3072)], lambda a, b: a.t() @ b
    yield "bmm_96x512x64x512", [tensor(96, 512, 64), tensor(96, 64, 512)], torch.bmm
    yield "bmm_96x512x512x64", [tensor(96, 512, 512), tensor(96, 512, 64)], torch.bmm
    for batch, channels, size in ((8, 64, 128), (16, 128, 56), (16, 256, 28), (32, 512, 14)):
        x = tensor(batch, channels, size, size)
        name = f"{batch}x{channels}x{size}x{size}"
        norm = [x, torch.ones(channels, device="cuda"), torch.zeros(channels, device="cuda")]
        yield f"batchnorm_{name}", norm, lambda x, w, b: torch.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)
        yield f"conv3x3_{name}", [x, tensor(channels, channels, 3, 3)], lambda x, w: f.conv2d(x, w, padding=1)
        yield f"conv1x1_{name}", [x, tensor(channels, channels, 1, 1)], f.conv2d
        yield f"conv3x3s2_{name}", [x, tensor(channels, channels, 3, 3)], lambda x, w: f.conv2d(x, w, padding=1, stride=2)
        for mask, what in (((True, False, False), "dgrad3x3"), ((False, True, False), "wgrad3x3")):
            yield (f"{what}_{name}", [x, x, tensor(channels, channels, 3, 3)],
                   lambda g, x, w, mask=mask: torch.ops.aten.convolution_backward(
                       g, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, list(mask)))


def flat(result, torch):
    items = result if isinstance(result, (tuple, list)) else [result]
    return [item for item in items if isinstance(item, torch.Tensor)]


def described(name, role, tensor):
    return {"name": name, "role": role, "shape": list(tensor.shape), "dtype": str(tensor.dtype).split(".")[-1],
            "bytes": tensor.numel() * tensor.element_size(), "va_offset_in_2m": tensor.data_ptr() % BLOCK}


def make(recorder, torch, name, inputs, call, place, inputs_on="gpu"):
    """Makes the call with its allocations at `place`. Returns its record, or the reason why there is none."""
    library = recorder.library
    count = library.uvm_prepare(PLACES[place], 0)
    if count < 0:
        return None, "managed memory was refused"
    blocks = recorder.prepared(count)
    for tensor in inputs if inputs_on == "host" else ():
        recorder.move_to_host(tensor)
    torch.cuda.synchronize()
    recorder.take()
    FAULT_SECTIONS.begin(f"{name}|{inputs_on}|{place}")
    outputs = flat(call(*inputs), torch)
    torch.cuda.synchronize()
    FAULT_SECTIONS.begin("between")
    record = recorder.take()
    fine = library.uvm_as_prepared() == 1
    ranges, tensors = [], []
    distinct = {tensor.data_ptr(): tensor for tensor in inputs if tensor.numel() != 0}
    for i, tensor in enumerate(distinct.values()):
        ranges.append((tensor.data_ptr(), tensor.numel() * tensor.element_size()))
        tensors.append(described(f"in{i}", "input", tensor))
    taken = set()
    for i, tensor in enumerate(outputs):
        if tensor.numel() == 0:
            continue
        ranges.append((tensor.data_ptr(), tensor.numel() * tensor.element_size()))
        tensors.append(described(f"out{i}", "output", tensor))
        taken.add(tensor.data_ptr())
    for i, (address, size) in enumerate(blocks):
        if address in taken or size == 0:
            continue
        ranges.append((address, size))
        tensors.append({"name": f"workspace{i}", "role": "output", "shape": [size], "dtype": "uint8", "bytes": size,
                        "va_offset_in_2m": address % BLOCK})
    del outputs
    library.uvm_release_all()
    if record["dropped"]:
        return None, f"CUPTI dropped {record['dropped']} records"
    if not fine:
        return None, "it made other allocations than before"
    return (record, ranges, tensors), ""


def is_whole(found, native):
    """Returns whether `validate` may assume that the call's kernel touches all of every tensor."""
    tensors = found[2]
    sums = {"workspace": 0, "out": 0}
    for tensor in tensors:
        if tensor["role"] == "output":
            sums["workspace" if tensor["name"].startswith("workspace") else "out"] += tensor["bytes"]
    return len(native) == 1 and sums["workspace"] * 100 <= sums["out"]


def as_line(name, inputs_on, place, record, ranges, tensors, native):
    origin = min([kernel["start_ns"] for kernel in record["kernels"]] + [c[1] for c in record["counters"]])
    events = []
    for kernel, native_ns in zip(record["kernels"], native):
        kernel = dict(kernel, start_ns=kernel["start_ns"] - origin, end_ns=kernel["end_ns"] - origin, native_ns=native_ns)
        events.append((kernel["start_ns"], kernel))
    for kind, start, end, address, value, flags in record["counters"]:
        if kind not in KINDS:
            continue
        tensor, offset = -1, address
        for i, (base, size) in enumerate(ranges):
            if base <= address < base + size:
                tensor, offset = i, address - base
        end = end - origin if end >= start else 0
        events.append((start - origin, [KINDS[kind], start - origin, end, tensor, offset, value, flags]))
    events.sort(key=lambda event: event[0])
    return {"name": name, "inputs_on": inputs_on, "outputs_on": place, "note": "", "tensors": tensors,
            "events": [event for _, event in events]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorder")
    parser.add_argument("output")
    parser.add_argument("--only", default="")
    parser.add_argument("--outputs", choices=("host", "nowhere", "both"), default="both")
    parser.add_argument("--inputs", choices=("gpu", "host", "both"), default="gpu")
    parser.add_argument("--list", choices=("first", "classes", "mobile"), default="first")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--percent", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    if FAULT_SECTIONS.library and options.times > 0:
        parser.error("under `uvmtrace faults` give --times 0: the log slows down the runs that nobody is to observe")
    nobody = Nobody(options) if options.times > 0 else None
    # with the recorder in the process, some builds of PyTorch crash while they are loaded
    importlib.import_module("torch")
    recorder = Recorder(os.path.abspath(options.recorder))
    host = recorder.host_speed()
    torch = opened_torch(options)
    outputs = ("nowhere", "host") if options.outputs == "both" else (options.outputs,)
    places = [("gpu", place) for place in outputs] if options.inputs != "host" else []
    if options.inputs != "gpu":
        places.append(("host", "nowhere"))
    made, late, begin = 0, 0, time.monotonic()
    with open(options.output + ".part", "w", encoding="utf-8") as out:
        for name, inputs, call in chosen(options, torch):
            if time.monotonic() - begin > options.seconds:
                late += 1
                continue
            try:
                lines, reason = measured(recorder, torch, name, inputs, call, places, options.all)
                if nobody:
                    reason = nobody.add_times(name, lines, host) or reason
            except RuntimeError as error:
                lines, reason = [], str(error).split("\n", maxsplit=1)[0]
                recorder.library.uvm_release_all()
            for line in lines:
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
            out.flush()
            made += len(lines)
            if reason:
                print(f"library_calls: {name} left out{' in part' if lines else ''}: {reason}", file=sys.stderr)
    if nobody:
        nobody.leave()
    os.rename(options.output + ".part", options.output)
    print(f"{made} calls in {options.output}" + (f"; {late} left out: --seconds" if late else ""))


def opened_torch(options):
    """Opens PyTorch after the recorder has begun and before anything is allocated."""
    import torch

    allocator = torch.cuda.memory.CUDAPluggableAllocator(os.path.abspath(options.recorder), "uvm_allocate", "uvm_release")
    torch.cuda.memory.change_current_allocator(allocator)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return torch


class Nobody:
    """The process without a listener."""

    def __init__(self, options):
        context = multiprocessing.get_context("fork")  # this process has loaded neither CUDA nor PyTorch yet
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve_times, args=(theirs, options), daemon=True)
        self.process.start()

    def add_times(self, name, lines, host):
        """Adds unobserved times to each line. Returns the reasons why lines have none."""
        if not lines:
            return ""
        self.pipe.send((name, [(line["inputs_on"], line["outputs_on"]) for line in lines]))
        times, reason = self.pipe.recv()
        for line, kernel_ns in zip(lines, times):
            events = line.pop("events")  # the key stays the last one
            line["unobserved"] = {"kernel_ns": kernel_ns, "host": host}
            line["events"] = events
        del lines[len(times):]
        return reason

    def leave(self):
        self.pipe.send(None)
        self.process.join()


def serve_times(pipe, options):
    """Makes the same list of calls and times those that are requested, in this order."""
    importlib.import_module("torch")
    recorder = Recorder(os.path.abspath(options.recorder), record=False)
    torch = opened_torch(options)
    asked = pipe.recv()
    for name, inputs, call in chosen(options, torch):
        if asked is None:
            return
        if name != asked[0]:
            continue
        times, reason = [], ""
        try:
            call(*inputs)
            torch.cuda.synchronize()
            recorder.library.uvm_learn()
            call(*inputs)
            torch.cuda.synchronize()
            for inputs_on, place in asked[1]:
                times.append([timed(recorder, torch, inputs, call, place, inputs_on) for _ in range(options.times)])
        except RuntimeError as error:
            reason = "without a listener: " + str(error).split("\n", maxsplit=1)[0]
            recorder.library.uvm_release_all()
        pipe.send((times, reason))
        asked = pipe.recv()


def timed(recorder, torch, inputs, call, place, inputs_on):
    """Returns the time of the call on the GPU in nanoseconds; a pause hides the launches."""
    if recorder.library.uvm_prepare(PLACES[place], 0) < 0:
        raise RuntimeError("managed memory was refused")
    for tensor in inputs if inputs_on == "host" else ():
        recorder.move_to_host(tensor)
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    torch.cuda._sleep(PAUSE_CYCLES)
    before.record()
    outputs = call(*inputs)
    after.record()
    torch.cuda.synchronize()
    fine = recorder.library.uvm_as_prepared() == 1
    del outputs
    recorder.library.uvm_release_all()
    if not fine:
        raise RuntimeError("it made other allocations than before")
    return round(before.elapsed_time(after) * 1e6)


def chosen(options, torch):
    every = {"first": calls, "classes": call_classes.calls, "mobile": call_classes.mobile_calls}[options.list](torch)
    return (call for call in every if options.only in call[0] and lot(call[0]) < options.percent)


def lot(name):
    """Returns a number from 0 to 99 that depends on the name alone."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % 100


def measured(recorder, torch, name, inputs, call, places, several):
    """Returns the call's lines, and the reason why there are no more."""
    call(*inputs)  # makes libraries choose and load their kernels
    torch.cuda.synchronize()
    recorder.library.uvm_learn()
    call(*inputs)
    torch.cuda.synchronize()
    found, reason = make(recorder, torch, name, inputs, call, "gpu")
    if not found:
        return [], reason
    native = [kernel["end_ns"] - kernel["start_ns"] for kernel in found[0]["kernels"]]
    if not several and not is_whole(found, native):
        return [], "several kernels, or a workspace"
    partly = name.split(".")[0] in call_classes.PARTLY
    lines = []
    for inputs_on, place in places:
        if inputs_on == "host" and (partly or not inputs):
            continue
        found, reason = make(recorder, torch, name, inputs, call, place, inputs_on)
        if found and len(found[0]["kernels"]) != len(native):
            found, reason = None, "it made other kernels than before"
        if not found:
            return lines, reason
        lines.append(as_line(name, inputs_on, place, *found, native))
    return lines, ""


if __name__ == "__main__":
    main()
