# SPDX-License-Identifier: Apache-2.0
"""Reads results: JSON lines of `uvmsim run --json` and sweeps (`results.sqlite`, or the folder that holds it).

`load(paths)` is what the figures use: one tidy table (`frame.py`) of all files together.
"""

import os

from analysis.errors import ResultError
from analysis.frame import result_rows, tidy
from analysis.json_text import parse_json
from analysis.plain_text import plain_tree
from analysis.database import is_database
from analysis.sweeps import read_sweep

SCHEMA = "uvmsim.result/3"


def parse_result(text, where):
    """Parses one result of schema uvmsim.result/3 (sim/report/README.md); `where` begins the error message."""
    try:
        result = plain_tree(parse_json(text))
    except ValueError as error:
        raise ResultError(f"{where}: not JSON: {error}") from error
    schema = result.get("schema") if isinstance(result, dict) else None
    if schema != SCHEMA:
        raise ResultError(f"{where}: schema {schema!r}; allowed: {SCHEMA!r}")
    return result


def read_lines(path):
    """Returns the results of one file of JSON lines, in order."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    except OSError as error:
        raise ResultError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: not a text file; allowed: JSON lines of `uvmsim run --json`") from error
    return [parse_result(line, f"{path}: line {number}") for number, line in enumerate(lines, start=1) if line.strip()]


def read(path, allow_partial=False):
    """Returns one list of rows (frame.py) per point of a file or a sweep's folder."""
    if os.path.isdir(path) or is_database(path):
        return read_sweep(path, allow_partial)
    return [result_rows(result, f"{path}: result {number}") for number, result in enumerate(read_lines(path), start=1)]


def load(paths, allow_partial=False):
    """Returns the tidy table (`frame.py`) of all files together. Refuses an incomplete sweep, unless
    `allow_partial`."""
    points = [rows for path in paths for rows in read(path, allow_partial)]
    if not points:
        raise ResultError("no results given")
    return tidy(points)
