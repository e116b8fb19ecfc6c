"""Reads results of `uvmsim run --json`: one JSON object per line, schema uvmsim.result/1 (sim/report/README.md)."""

import json

SCHEMA = "uvmsim.result/1"


class ResultError(Exception):
    """A file that is not what this script reads; the message is one line for the user."""


def load_results(paths):
    """All results of the files, in order. Raises ResultError naming file and line."""
    results = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.readlines()
        except OSError as error:
            raise ResultError(f"cannot read {path}: {error.strerror}") from error
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                result = json.loads(line)
            except ValueError as error:
                raise ResultError(f"{path}: line {number}: not JSON: {error}") from error
            schema = result.get("schema") if isinstance(result, dict) else None
            if schema != SCHEMA:
                raise ResultError(f"{path}: line {number}: schema {schema!r}; allowed: {SCHEMA!r}")
            results.append(result)
    if not results:
        raise ResultError("no results given")
    return results


def settled_ns(result):
    """Duration of the settled iteration, or of the whole run when the trace marks no iterations."""
    return result["settled"]["duration_ns"] if result["settled"] else result["total_ns"]


def unlimited_ns(result):
    """The same of the program without limit; None when the result does not hold it."""
    unlimited = result["unlimited"]
    if not unlimited:
        return settled_ns(result) if result["limit"]["by"] == "none" else None
    return unlimited["settled_ns"] if result["settled"] else unlimited["total_ns"]


def settled_counters(result):
    return result["settled"]["counters"] if result["settled"] else result["counters"]


def total_bytes(counters, direction):
    """Bytes moved in one direction ("htod" or "dtoh"), whatever the cause."""
    return sum(
        value for name, value in counters.items() if name.startswith(direction + "_") and name.endswith("_bytes")
    )
