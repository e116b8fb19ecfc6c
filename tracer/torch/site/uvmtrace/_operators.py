# SPDX-License-Identifier: Apache-2.0
"""Records operators with the memory that they read and write according to their schema.

PyTorch reports every operator to its observers, including those of backward passes. It does not know of kernels that
are launched without an operator: Triton kernels called directly, graph replays, libraries with their own bindings.
"""

import ctypes

from uvmtrace import _library

_native = None
_FORWARDED = ["operator_begin", "operator_outputs", "operator_end"]


def install(torch, calls):
    # Operators cannot run on CUDA before it is initialised.
    torch.cuda._lazy_call(lambda: _observe(torch, calls))


def _observe(torch, calls):
    global _native
    from uvmtrace import _build

    try:
        native = ctypes.CDLL(_build.library_for(torch, "operator_trace.cpp", ["torch_cpu", "c10"]))
        native.uvmtrace_torch_observe_operators.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32]
        native.uvmtrace_torch_observe_operators.restype = ctypes.c_char_p
        addresses = calls.addresses(_FORWARDED)
        failure = native.uvmtrace_torch_observe_operators(
            (ctypes.c_void_p * len(addresses))(*addresses), len(addresses)
        )
        if failure:
            raise RuntimeError(failure.decode("utf-8", "replace").splitlines()[0])
        _native = native
    except Exception as error:
        _library.say(f"operators are not recorded: {error}")


def leave():
    global _native
    if _native is not None:
        native, _native = _native, None
        native.uvmtrace_torch_leave_operators()
