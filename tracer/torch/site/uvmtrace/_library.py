# SPDX-License-Identifier: Apache-2.0
"""The C functions of the injection library (tracer/log/c_api.h), or functions that do nothing.

The driver loads the library named by CUDA_INJECTION64_PATH with dlopen; opening the same path here gives the same
object, whichever comes first.
"""

import ctypes
import os
import sys


class Tensor(ctypes.Structure):
    """struct uvmtrace_tensor: a range of memory, and whether it is read or written."""

    _fields_ = [("va", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("mode", ctypes.c_uint32)]


_U64 = ctypes.c_uint64
_SIGNATURES = {
    "tensor_alloc": [_U64, _U64, _U64],
    "tensor_free": [_U64],
    "tensor_free_done": [_U64],
    "segment_alloc": [_U64, _U64, _U64, ctypes.c_uint32],
    "segment_free": [_U64, _U64],
    "range_push": [ctypes.c_char_p],
    "range_pop": [],
    "iteration": [_U64, ctypes.c_int],
    "operator_begin": [ctypes.c_char_p, ctypes.POINTER(Tensor), ctypes.c_uint32],
    "operator_outputs": [ctypes.POINTER(Tensor), ctypes.c_uint32],
    "operator_end": [],
    "flush": [],
}


class _Nothing:
    """Stands for the library when nothing is recorded."""

    recording = False

    def __getattr__(self, name):
        if name not in _SIGNATURES:
            raise AttributeError(name)
        return lambda *arguments: None


class _Calls:
    recording = True

    def __init__(self, library):
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, "uvmtrace_" + name)
            function.argtypes = arguments
            function.restype = None
            setattr(self, name, function)
        push = self.range_push
        self.range_push = lambda name: push(name.encode("utf-8", "replace"))

    def addresses(self, names):
        """Returns function pointers for native code, in the order of `names`."""
        return [ctypes.cast(getattr(self, name), ctypes.c_void_p).value for name in names]


_calls = None


def say(text):
    """Prints one line for the user on stderr, because stdout belongs to the program."""
    print(f"uvmtrace: {text}", file=sys.stderr, flush=True)


def calls():
    global _calls
    if _calls is None:
        _calls = _open()
    return _calls


def _open():
    path = os.environ.get("CUDA_INJECTION64_PATH")
    if not path or not os.environ.get("UVMTRACE_LOG_DIR"):
        return _Nothing()
    try:
        return _Calls(ctypes.CDLL(path))
    except (OSError, AttributeError) as error:
        say(f"PyTorch is not observed: {error}")
        return _Nothing()


def _forget_after_fork():
    # The log belongs to the parent; a child that uses CUDA must be a new process anyway.
    global _calls
    _calls = _Nothing()


os.register_at_fork(after_in_child=_forget_after_fork)
