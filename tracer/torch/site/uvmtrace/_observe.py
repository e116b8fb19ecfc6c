# SPDX-License-Identifier: Apache-2.0
"""Installs the observers of torch; if one fails, it prints one line and the others continue."""

import atexit
import os

from uvmtrace import _allocator, _iterations, _library, _modules, _operators


def install(torch):
    calls = _library.calls()
    if not calls.recording:
        return
    parts = [
        ("tensor lifetimes", _allocator.install),
        ("module names", _modules.install),
        ("iterations", _iterations.install),
    ]
    if os.environ.get("UVMTRACE_TORCH_OPERATORS", "0") not in ("", "0"):
        parts.append(("operators", _operators.install))
    for what, install_part in parts:
        try:
            install_part(torch, calls)
        except Exception as error:
            _library.say(f"{what} are not recorded: {type(error).__name__}: {error}")
    atexit.register(_finish, torch)


def _finish(torch):
    calls = _library.calls()
    if not calls.recording:
        return
    _operators.leave()
    try:
        # The profiler's own flush does not wait for kernels that still run.
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except Exception:
        pass  # the program's CUDA context is broken, and the program knows this already
    _iterations.finish()
    calls.flush()
