# SPDX-License-Identifier: Apache-2.0
"""Every Python file of the recipes and the helper can be parsed by this Python (3.8 or later)."""

import ast
import glob
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PATTERNS = ["workloads/recipes/*.py", "tracer/torch/**/*.py", "tests/tracer/torch/**/*.py"]
files = sorted(path for pattern in PATTERNS for path in glob.glob(os.path.join(ROOT, pattern), recursive=True))
for path in files:
    with open(path) as file:
        ast.parse(file.read(), path, feature_version=(3, 8))
print(f"{len(files)} files")
sys.exit(0 if len(files) > 20 else 1)
