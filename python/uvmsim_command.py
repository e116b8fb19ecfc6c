# SPDX-License-Identifier: Apache-2.0
"""The command `uvmsim` of the wheel: replaces its process by the program in the package, without loading the module."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "uvmsim", "bin", "uvmsim")


def main():
    try:
        os.execv(PROGRAM, ["uvmsim", *sys.argv[1:]])
    except OSError as error:
        print(f"uvmsim: error: {PROGRAM}: {error.strerror}; install the package again", file=sys.stderr)
        sys.exit(2)
