# SPDX-License-Identifier: Apache-2.0
"""Python loads this file if `uvmtrace record --torch` has put its folder first on PYTHONPATH. With UVMTRACE_TORCH=0 the
folder is there only so that the program can import uvmtrace.

Waits for the program to import torch and then observes it. A program must never break because of this file.
"""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))

if os.environ.get("UVMTRACE_LOG_DIR") and os.environ.get("UVMTRACE_TORCH", "1") != "0":
    try:
        from uvmtrace import _import_hook

        _import_hook.watch_for_torch()
    except Exception as error:  # whatever the error is, the program continues
        print(f"uvmtrace: PyTorch is not observed: {error}", file=sys.stderr)


def _run_the_next_sitecustomize():
    """Loads the module that Python would have loaded without this one; Python reports its errors as usual."""
    path = [entry for entry in sys.path if os.path.abspath(entry or os.getcwd()) != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_run_the_next_sitecustomize()
