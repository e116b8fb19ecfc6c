# SPDX-License-Identifier: Apache-2.0
"""Figures and tables from results of uvmsim; nothing here runs the model."""

import importlib.util
import sys

_missing = [name for name in ("matplotlib", "pandas") if importlib.util.find_spec(name) is None]
if _missing:
    _message = (
        f"{sys.executable} lacks {' and '.join(_missing)}; the distribution's Python has them once the packages "
        "python3-matplotlib and python3-pandas are installed: /usr/bin/python3 -m analysis ..."
    )
    if sys.argv[0] == "-m":  # as a command
        print(f"analysis: error: {_message}", file=sys.stderr)
        sys.exit(2)
    raise ImportError(_message)
