# SPDX-License-Identifier: Apache-2.0
"""Reads profiles, the SQLite files of `uvmsim run --profile` (sim/report/PROFILE.md describes their tables)."""

import sqlite3

import pandas

from analysis.database import is_database, open_database, rows_of
from analysis.errors import ResultError
from analysis.frame import program_name, result_rows
from analysis.json_text import parse_json
from analysis.plain_text import plain_tree

SCHEMA = "uvmsim.profile/1"
# Counted per operation, per layer and per allocation.
HTOD = "htod_fault_bytes htod_prefetch_bytes htod_user_bytes htod_counter_bytes".split()
DTOH = "dtoh_fault_bytes dtoh_prefetch_bytes dtoh_user_bytes dtoh_evict_bytes".split()
FAULTS = ["read_faulting_pages", "write_faulting_pages"]


class Profile:
    """One profile. `query` returns a DataFrame; `result` is the run's result as `--json` writes it."""

    def __init__(self, path):
        self.path = path
        if not is_database(path):
            try:
                with open(path, "rb"):
                    pass
            except OSError as error:
                raise ResultError(f"cannot read {path}: {error.strerror}") from error
            raise ResultError(f"{path}: not an SQLite file; allowed: a profile of `uvmsim run --profile`")
        try:
            self.connection = open_database(path)
        except sqlite3.Error as error:
            raise ResultError(f"{path}: not a profile of uvmsim: {error}") from error
        row = self.query("SELECT * FROM run").iloc[:1]
        schema = row["schema"].iloc[0] if len(row) and "schema" in row else None
        if schema != SCHEMA:
            self.close()
            raise ResultError(f"{path}: schema {schema!r}; allowed: {SCHEMA!r}")
        try:
            # Checks that there is a row of the whole run, which titles use.
            self.result = plain_tree(parse_json(row["result"].iloc[0]))
            result_rows(self.result, path)
        except (KeyError, TypeError, ValueError) as error:
            self.close()
            raise ResultError(f"{path}: not a profile of uvmsim: {error}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def query(self, text, parameters=()):
        try:
            names, rows = rows_of(self.connection.execute(text, parameters))
            return pandas.DataFrame(rows, columns=names)
        except (sqlite3.Error, OverflowError) as error:
            self.close()
            raise ResultError(f"{self.path}: not a profile of uvmsim: {error}") from error

    @property
    def program(self):
        return program_name(self.result["trace"]["file"])

    def title(self):
        limit = self.result["limit"]["by"]
        factor = "no limit" if limit == "none" else f"factor {self.result['osf_thousandths'] / 1000:.3g}"
        return f"{self.program}, {self.result['system'].get('name')}, layout {self.result['layout']}, {factor}"

    def iterations(self):
        text = "SELECT DISTINCT iteration FROM operations WHERE iteration IS NOT NULL ORDER BY iteration"
        return [int(value) for value in self.query(text)["iteration"]]

    def chosen_iterations(self, choice):
        """Returns the iterations that a choice names: "last", "all", or a number. None: everything, marked or not."""
        known = self.iterations()
        if choice == "all" or not known:
            return None
        if choice == "last":
            return [known[-1]]
        if not choice.isdigit() or int(choice) not in known:
            raise ResultError(f"--iteration: no iteration '{choice}'; allowed: last, all, {known[0]} to {known[-1]}")
        return [int(choice)]


def with_traffic(frame):
    """Adds the columns `faulting_pages`, `to_gpu_bytes` and `to_host_bytes` from the sums by cause."""
    frame = frame.copy()
    frame["faulting_pages"] = frame[FAULTS].sum(axis=1)
    frame["to_gpu_bytes"] = frame[HTOD].sum(axis=1)
    frame["to_host_bytes"] = frame[DTOH].sum(axis=1)
    return frame
