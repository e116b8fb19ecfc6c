"""Ranges for modules' forward passes, backward passes and optimizer steps.

A module is named by its path in the outermost module that is running, and its class: `h.0.attn:GPT2Attention`. Kernels
of a backward pass are launched by other threads; they lie in the range `backward`, not in their module's.
"""

import functools
import os
import threading
import weakref

from uvmtrace import _iterations


class _Names:
    """Names of modules by identity: a module may define equality as it likes."""

    def __init__(self):
        self._known = {}  # id of the module: weak reference to it, name
        self._running = threading.local()

    def of(self, module, is_outermost):
        known = self._known.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        root = module if is_outermost else getattr(self._running, "root", lambda: None)()
        if root is not None:
            self._running.root = weakref.ref(root)
            for path, inner in root.named_modules():
                kind = type(inner).__name__
                self._known[id(inner)] = (weakref.ref(inner), f"{path}:{kind}" if path else kind)
        known = self._known.get(id(module))
        if known is None or known[0]() is not module:  # it runs inside another one without being part of it
            known = self._known[id(module)] = (weakref.ref(module), type(module).__name__)
        return known[1]


def install(torch, calls):
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    wanted = os.environ.get("UVMTRACE_TORCH_MODULES", "1") not in ("", "0")
    names = _Names()
    thread = threading.local()

    def before_forward(module, _inputs):
        depth = getattr(thread, "depth", 0)
        thread.depth = depth + 1
        if depth == 0:
            _iterations.forward_pass_begins()
        if wanted:
            calls.range_push(names.of(module, depth == 0))

    def after_forward(_module, _inputs, _output):
        thread.depth = max(getattr(thread, "depth", 1) - 1, 0)
        if wanted:
            calls.range_pop()

    register_module_forward_pre_hook(before_forward)
    register_module_forward_hook(after_forward, always_call=True)
    if wanted:
        _name_backward(torch, calls)
        _name_steps(calls)


def _name_backward(torch, calls):
    run_backward = torch.autograd.backward

    @functools.wraps(run_backward)
    def backward(*arguments, **keywords):
        calls.range_push("backward")
        try:
            return run_backward(*arguments, **keywords)
        finally:
            calls.range_pop()

    torch.autograd.backward = backward


def _name_steps(calls):
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    register_optimizer_step_pre_hook(lambda optimizer, *_: calls.range_push(f"step:{type(optimizer).__name__}"))
    register_optimizer_step_post_hook(lambda *_: calls.range_pop())
