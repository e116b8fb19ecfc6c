# SPDX-License-Identifier: Apache-2.0
"""The common part of the commands: arguments, tables and figures, and errors as one line with exit status 2."""

import argparse
import os
import sys

from analysis.errors import ResultError
from analysis.plain_text import plain_line
from analysis.results import load
from analysis.style import set_width
from analysis.tables import print_tables


def parser_of(name, description):
    """A parser whose help begins with the module's docstring."""
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
    """Returns the exit status of a command: `work` returns it, or None for 0; ResultError becomes one line and status
    2."""
    try:
        return work() or 0
    except ResultError as error:
        return complain(name, error)
    except BrokenPipeError:
        # The reader of the output has gone; without this line Python reports the error again at its end.
        sys.stdout = None
        return 2
    except MemoryError:
        return complain(name, "out of memory")
    except Exception as error:  # results may come from anybody: an unexpected error also ends in one line
        if os.environ.get("UVMSIM_TRACEBACK"):
            raise
        return complain(
            name,
            f"the input is not what uvmsim writes, or this is a bug: {type(error).__name__}: {error}"
            " (UVMSIM_TRACEBACK=1 shows where)",
        )


def complain(name, error):
    print(f"{name}: error: {plain_line(error)}", file=sys.stderr)
    return 2


def add_figure(parser, figure="write FIGURE.png and FIGURE.pdf"):
    """Adds the options of every command that draws."""
    parser.add_argument("-o", "--figure", metavar="FIGURE", help=figure)
    add_width(parser)


def add_width(parser):
    parser.add_argument(
        "--width",
        type=width_of,
        metavar="LENGTH",
        help="width of figures, such as 240pt or 84mm for a column of a paper (units: pt, mm, cm, in)",
    )


INCHES = {"pt": 1 / 72.27, "mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0}  # a point as in TeX


def width_of(text):
    """Converts a width with a unit to inches."""
    number, unit = text[:-2], text[-2:]
    try:
        inches = float(number) * INCHES[unit]
    except (KeyError, ValueError):
        inches = 0
    if not 1.5 <= inches <= 40:
        raise argparse.ArgumentTypeError(f"'{text}' is no width; allowed: 1.5in to 40in in pt, mm, cm or in, such as 240pt")
    return inches


def figure_command(name, description, prepare, tables, draw, arguments=None, options=()):
    """A command that reads results and prints tables, draws a figure, or both; returns its exit status.

    `prepare(frame, given)` returns the arguments of `tables(*values)`, which returns a title and a list of Table, and
    of `draw(*values, path)`; `options` are further arguments, each a name and the keywords of add_argument.
    """
    parser = parser_of(name, description)
    add_results(parser)
    add_figure(parser)
    for option, keywords in options:
        parser.add_argument(option, **keywords)
    parser.add_argument("--table", action="store_true", help="print the numbers (default without -o)")
    parser.add_argument("--latex", action="store_true", help="print them as a LaTeX table, with booktabs")
    given = parser.parse_args(arguments)

    def work():
        values = prepare(load(given.results, given.partial), given)
        set_width(given.width)
        if given.table or given.latex or not given.figure:
            print_tables(*tables(*values), latex=given.latex)
        if given.figure:
            for path in draw(*values, given.figure):
                print(f"figure: {path}")

    return run(name, work)
