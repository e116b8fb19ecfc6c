#!/usr/bin/env python3
"""Runs analysis.plot_osf as a script: slowdown.py RESULT... [--table] [--figure OUT.png]"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from analysis.plot_osf import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
