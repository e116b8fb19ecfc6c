# SPDX-License-Identifier: Apache-2.0
"""Calls _observe.install() when the program has imported torch."""

import importlib.abc
import sys


class _TorchWatcher(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname != "torch":
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                _observe_after(spec.loader)
                return spec
        return None


def _observe_after(loader):
    """Makes a loader run the installation right after it has executed the module; the loader is otherwise unchanged."""
    if loader is None or not hasattr(loader, "exec_module"):
        return
    run = loader.exec_module

    def run_and_observe(module):
        del loader.exec_module
        run(module)
        _install(module)

    loader.exec_module = run_and_observe


def _install(torch):
    from uvmtrace import _library

    try:
        from uvmtrace import _observe

        _observe.install(torch)
    except Exception as error:
        _library.say(f"PyTorch is not observed: {type(error).__name__}: {error}")


def watch_for_torch():
    if "torch" in sys.modules:
        _install(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _TorchWatcher())
