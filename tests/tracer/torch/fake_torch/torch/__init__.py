"""As much of torch as the helper uses. The allocator is a C++ library that the test compiles into lib/."""

import ctypes
import os

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.0.fake")


class _C:
    _GLIBCXX_USE_CXX11_ABI = True


class Tensor:
    is_cuda = True
    is_sparse = False

    def __init__(self, address, shape, stride, element_size=4):
        self.address, self.shape, self._stride, self._element_size = address, shape, stride, element_size

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def stride(self):
        return self._stride

    def data_ptr(self):
        return self.address

    def element_size(self):
        return self._element_size


def fake_allocator():
    """The compiled allocator: fake_entry(action, address, size, stream)."""
    return ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", "libc10_cuda.so"))


from torch import autograd, cuda, nn, optim, utils  # noqa: E402,F401
