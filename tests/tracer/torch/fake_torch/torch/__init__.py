# SPDX-License-Identifier: Apache-2.0
"""The part of torch that the helper uses. Native code is compiled into lib/ by the test."""

import ctypes
import os

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.0.fake")


class _EvalFrame:
    """The compiler's hooks: the callback that is asked about frames (None: no callback), and the code that the compiler
    skips."""

    callback = None
    skipped = []

    @classmethod
    def set_eval_frame(cls, callback):
        before, cls.callback = cls.callback, callback
        return before

    @classmethod
    def skip_code(cls, code):
        cls.skipped.append(code)


class _C:
    _GLIBCXX_USE_CXX11_ABI = True

    class _dynamo:
        eval_frame = _EvalFrame


class compiler:
    tracing = False

    @classmethod
    def is_compiling(cls):
        return cls.tracing


def fake_library(name):
    """Returns a compiled library: c10_cuda with fake_entry(action, address, size, stream), torch_cpu with
    fake_operator(...)."""
    return ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", f"lib{name}.so"))


from torch import autograd, cuda, nn, optim  # noqa: E402,F401
