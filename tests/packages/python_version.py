# SPDX-License-Identifier: Apache-2.0
"""Checks that the code needs no newer Python than the oldest one that setup.py allows: neither newer syntax nor names
that later
versions introduced.

usage: python_version.py SOURCE_DIR
"""

import ast
import pathlib
import re
import sys

# Features by the version that introduced them: attributes, modules, keywords of a call.
NEWER = {
    (3, 10): {"bit_count", "pairwise", "strict", "TypeAlias"},
    (3, 11): {"tomllib", "ExceptionGroup", "StrEnum", "cbrt", "exp2"},
    (3, 12): {"batched", "override", "sumprod"},
    (3, 13): {"deprecated"},
}


def names_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.keyword):
            yield node.arg
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.name for alias in node.names)


def main():
    source = pathlib.Path(sys.argv[1])
    requires = re.search(r'python_requires=">=3\.(\d+)"', (source / "setup.py").read_text())
    oldest = (3, int(requires[1]))
    too_new = [(version, name) for version, names in NEWER.items() if version > oldest for name in names]
    wrong = []
    files = [file for folder in ("python", "analysis") for file in sorted((source / folder).rglob("*.py"))]
    assert len(files) > 30, files
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=oldest)
        used = set(names_of(tree))
        wrong += [f"{file}: {name} came with Python {version[0]}.{version[1]}, setup.py allows {oldest[0]}.{oldest[1]}"
                  for version, name in too_new if name in used]  # fmt: skip
    print("\n".join(wrong) or f"{len(files)} files need no more than Python {oldest[0]}.{oldest[1]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
