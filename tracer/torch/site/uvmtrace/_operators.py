"""Operators with the memory that their schema says they read and write.

A dispatch mode sees every operator below autograd, those of backward passes too: autograd's threads take over the modes
of the thread that called backward(). It does not see kernels that are launched without an operator (Triton kernels
called directly, graph replays, libraries with their own bindings).
"""

import functools

from uvmtrace import _library

_mode = None


def install(torch, calls):
    from torch.utils import _python_dispatch

    class Recorder(_python_dispatch.TorchDispatchMode):
        supports_higher_order_operators = True  # they run as without this mode

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            plan = _plan_of(func)
            if plan is None:
                return func(*args, **kwargs)
            inputs = _Ranges(torch.Tensor)
            for value, mode in zip(args, plan.positional):
                inputs.add(value, mode)
            for name, value in kwargs.items():
                inputs.add(value, plan.by_name.get(name, _library.READ))
            calls.operator_begin(plan.name, *inputs.as_array())
            try:
                result = func(*args, **kwargs)
                outputs = _Ranges(torch.Tensor)
                outputs.add(plan.made_by(result), _library.WRITE)
                calls.operator_outputs(*outputs.as_array())
                return result
            finally:
                calls.operator_end()

    global _mode
    _mode = Recorder()
    _mode.__enter__()


def leave():
    global _mode
    if _mode is not None:
        mode, _mode = _mode, None
        try:
            mode.__exit__(None, None, None)
        except Exception:
            pass  # the interpreter ends in the midst of somebody else's mode


class _Plan:
    """How the operator uses its arguments, from its schema."""

    def __init__(self, schema):
        self.name = schema.name.encode()
        modes = [_mode_of(argument) for argument in schema.arguments]
        self.positional = modes
        self.by_name = {argument.name: mode for argument, mode in zip(schema.arguments, modes)}
        # A result with alias information is one of the arguments, or a view of one.
        self.is_new = [result.alias_info is None for result in schema.returns]

    def made_by(self, result):
        if len(self.is_new) == 1:
            return result if self.is_new[0] else None
        if not isinstance(result, (tuple, list)):
            return None
        return [part for part, is_new in zip(result, self.is_new) if is_new]


def _mode_of(argument):
    if argument.alias_info is None or not argument.alias_info.is_write:
        return _library.READ
    # Arguments named out are only written; those of in-place operators are read as well.
    return _library.WRITE if argument.kwarg_only else _library.READ_WRITE


@functools.lru_cache(maxsize=None)
def _plan_of(func):
    """None for operators that touch no memory (views, uninitialised tensors) or have no schema (higher-order ones)."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return None
    writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
    views = bool(schema.returns) and all(r.alias_info is not None for r in schema.returns)
    if (views and not writes) or schema.name.startswith(("aten::empty", "aten::new_empty", "profiler::")):
        return None
    return _Plan(schema)


class _Ranges:
    """The bytes between the first and the last element of each CUDA tensor in a value, list or tuple."""

    def __init__(self, tensor_type):
        self.tensor_type = tensor_type
        self.found = []

    def add(self, value, mode):
        if isinstance(value, self.tensor_type):
            self._add_tensor(value, mode)
        elif isinstance(value, (tuple, list)):
            for part in value:
                self.add(part, mode)

    def _add_tensor(self, tensor, mode):
        try:
            if not tensor.is_cuda or tensor.numel() == 0:
                return
            if tensor.is_sparse:
                self._add_tensor(tensor._indices(), mode)
                self._add_tensor(tensor._values(), mode)
                return
            span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
            self.found.append((tensor.data_ptr(), span * tensor.element_size(), mode))
        except (RuntimeError, NotImplementedError):
            pass  # a tensor without memory of its own; its parts come by themselves

    def as_array(self):
        return (_library.Tensor * len(self.found))(*self.found), len(self.found)
