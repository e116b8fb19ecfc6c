# SPDX-License-Identifier: Apache-2.0
"""Ranges for modules' forward passes, backward passes and optimizer steps.

A module is named by its path in the outermost module that is running, and its class: `h.0.attn:GPT2Attention`.
Kernels of a backward pass are launched by other threads; they are in the range `backward`, not in their module's.
Modules inside a compiled region are not called one by one: their kernels are in the range of the module that was
compiled.

Module.__call__ is replaced right after torch was imported. Global hooks are not used, because with them
torch.compile would trace another program than without them.
"""

import os
import threading
import weakref

from uvmtrace import _compiler, _iterations


class _Names:
    """Names of modules by identity, because a module may define equality in any way."""

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
        if known is None or known[0]() is not module:  # it runs inside another module without being part of it
            known = self._known[id(module)] = (weakref.ref(module), type(module).__name__)
        return known[1]


def install(torch, calls):
    from torch.nn.modules.module import Module

    wanted = os.environ.get("UVMTRACE_TORCH_MODULES", "1") not in ("", "0")
    names = _Names()
    thread = threading.local()

    def enter(module):
        depth = getattr(thread, "depth", 0)
        thread.depth = depth + 1
        if depth == 0:
            _iterations.forward_pass_begins()
        if wanted:
            calls.range_push(names.of(module, depth == 0))

    def leave():
        thread.depth = max(getattr(thread, "depth", 1) - 1, 0)
        if wanted:
            calls.range_pop()

    _replace(torch, Module, "__call__", enter, leave)
    if wanted:
        _replace(torch, torch.autograd, "backward", lambda *_: calls.range_push("backward"), calls.range_pop)
        _name_steps(torch, calls)


def _replace(torch, owner, name, before, after):
    """Replaces the function owner.name by one that calls before(first argument) and after() around it."""
    run = getattr(owner, name)
    before = _compiler.outside(torch, before)
    after = _compiler.outside(torch, after)
    compiling = _compiler.is_compiling(torch)

    def call(*arguments, **keywords):
        if compiling():
            return run(*arguments, **keywords)
        before(*arguments[:1])
        try:
            return run(*arguments, **keywords)
        finally:
            after()

    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(call, attribute, getattr(run, attribute, None))
    _compiler.leave_to_python(torch, call)
    setattr(owner, name, call)


def _name_steps(torch, calls):
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    def before(optimizer, *_):
        calls.range_push(f"step:{type(optimizer).__name__}")

    def after(*_):
        calls.range_pop()

    register_optimizer_step_pre_hook(_compiler.outside(torch, before))
    register_optimizer_step_post_hook(_compiler.outside(torch, after))
