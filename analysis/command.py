# SPDX-License-Identifier: Apache-2.0
"""What the commands here share: arguments, tables and figures, and errors as one line with exit status 2."""

import argparse
import sys

from analysis.errors import ResultError
from analysis.results import load


def parser_of(name, description):
    """A parser whose first lines of help are the module's own text."""
    return argparse.ArgumentParser(
        prog=f"python3 -m analysis.{name}".removesuffix("."),
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_results(parser):
    parser.add_argument(
        "results",
        nargs="+",
        metavar="RESULTS",
        help="JSON lines of `uvmsim run --json`, a results.sqlite of `uvmsim sweep`, or the folder of a sweep",
    )
    parser.add_argument(
        "--partial", action="store_true", help="take an unfinished sweep, or one with failed points, for what it holds"
    )


def run(name, work):
    """Exit status of a command: `work` returns it, or None for 0; ResultError becomes one line and 2."""
    try:
        return work() or 0
    except ResultError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has gone; without this Python complains once more at its end.
        sys.stdout = None
        return 2


def figure_command(name, description, prepare, print_table, draw, arguments=None, options=()):
    """A command that reads results and prints a table, draws a figure, or both; returns its exit status.

    `prepare(frame, given)` returns what `print_table(*values)` and `draw(*values, path)` take; `options` are further
    arguments, each a name and the keywords of add_argument.
    """
    parser = parser_of(name, description)
    add_results(parser)
    parser.add_argument("-o", "--figure", metavar="FIGURE", help="write FIGURE.png and FIGURE.pdf")
    for option, keywords in options:
        parser.add_argument(option, **keywords)
    parser.add_argument("--table", action="store_true", help="print the numbers (default without -o)")
    given = parser.parse_args(arguments)

    def work():
        values = prepare(load(given.results, given.partial), given)
        if given.table or not given.figure:
            print_table(*values)
        if given.figure:
            for path in draw(*values, given.figure):
                print(f"figure: {path}")

    return run(name, work)
