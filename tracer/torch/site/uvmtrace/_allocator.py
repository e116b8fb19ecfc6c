# SPDX-License-Identifier: Apache-2.0
"""Records tensor lifetimes with requested sizes at the boundary of PyTorch's caching allocator.

The allocator calls a tracker for each request, even if its own history is off. A tracker must be native code, so a
small library (allocator_trace.cpp) is compiled on this machine against the headers of the installed PyTorch, once
per version.
"""

import ctypes
import os

from uvmtrace import _library

_native = None
_FORWARDED = ["tensor_alloc", "tensor_free", "tensor_free_done", "segment_alloc", "segment_free", "iteration"]


def install(torch, calls):
    # Trackers belong to the allocators of devices, which exist after CUDA is initialised.
    torch.cuda._lazy_call(lambda: _attach(torch, calls))


def _attach(torch, calls):
    try:
        _attach_or_raise(torch, calls)
    except Exception as error:
        _library.say(
            f"tensor lifetimes are not recorded: {error}. With PYTORCH_NO_CUDA_MEMORY_CACHING=1 every tensor is an "
            "allocation of its own, which is recorded."
        )


def _attach_or_raise(torch, calls):
    global _native
    if os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING") is not None:
        return  # every tensor is a cudaMalloc, and recorded as such
    settings = os.environ.get("PYTORCH_ALLOC_CONF", "") + os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
    if "expandable_segments:true" in settings.lower().replace(" ", ""):
        raise RuntimeError("expandable segments are on; only expandable_segments:False is supported")
    from uvmtrace import _build

    native = ctypes.CDLL(_build.library_for(torch, "allocator_trace.cpp", ["c10_cuda", "c10"]))
    native.uvmtrace_torch_attach.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32]
    native.uvmtrace_torch_attach.restype = ctypes.c_char_p
    native.uvmtrace_torch_begin_at_allocation.argtypes = [ctypes.c_uint64]
    native.uvmtrace_torch_begin_at_allocation.restype = None
    native.uvmtrace_torch_still_waits.argtypes = []
    native.uvmtrace_torch_still_waits.restype = ctypes.c_int
    addresses = calls.addresses(_FORWARDED)
    failure = native.uvmtrace_torch_attach((ctypes.c_void_p * len(addresses))(*addresses), len(addresses))
    if failure:
        raise RuntimeError(failure.decode("utf-8", "replace").splitlines()[0])
    _native = native


def begin_iteration_at_next_allocation(index):
    """Returns True if an allocation will mark the iteration; callers must then ask still_waits_for_allocation() before
    they mark it themselves."""
    if _native is None:
        return False
    _native.uvmtrace_torch_begin_at_allocation(index)
    return True


def still_waits_for_allocation():
    """Returns whether no allocation has begun the iteration; none will from now on."""
    return bool(_native.uvmtrace_torch_still_waits())
