# SPDX-License-Identifier: Apache-2.0
"""As much of torch as the helper uses. What is native is compiled into lib/ by the test."""

import ctypes
import os

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.0.fake")


class _EvalFrame:
    """Of the compiler: whom it asks about frames (None: nobody), and code that it passes over."""

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
    """A compiled one: c10_cuda with fake_entry(action, address, size, stream), torch_cpu with fake_operator(...)."""
    return ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", f"lib{name}.so"))


from torch import autograd, cuda, nn, optim  # noqa: E402,F401
