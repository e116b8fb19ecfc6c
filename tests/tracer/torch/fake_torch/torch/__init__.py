"""As much of torch as the helper uses. What is native is compiled into lib/ by the test."""

import ctypes
import os

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.0.fake")


class _C:
    _GLIBCXX_USE_CXX11_ABI = True


def fake_library(name):
    """A compiled one: c10_cuda with fake_entry(action, address, size, stream), torch_cpu with fake_operator(...)."""
    return ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", f"lib{name}.so"))


from torch import autograd, cuda, nn, optim  # noqa: E402,F401
