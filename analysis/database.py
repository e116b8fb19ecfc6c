# SPDX-License-Identifier: Apache-2.0
"""Untrusted SQLite files: only plain tables are read, and nothing is written, not even beside them.

Views, virtual tables and computed columns are programs of the file's author, which may run without end.
"""

import os
import sqlite3
import urllib.parse

from analysis.errors import ResultError
from analysis.plain_text import plain

START = b"SQLite format 3\x00"
LONGEST_VALUE = 64 << 20
FUNCTIONS = {"count", "sum", "min", "max", "total", "avg", "coalesce", "abs", "round"}
# The beginning of a journal that holds changes; SQLite sets it to zero when the changes are in the file.
JOURNAL_START = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"


def starts_with(path, start):
    try:
        with open(path, "rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


def is_database(path):
    return starts_with(path, START)


def refuse_unfinished(path):
    """Refuses a file with changes that are not in it yet, because they would be left out."""
    log = f"{path}-wal"
    if os.path.exists(log) and os.path.getsize(log) > 0 or starts_with(f"{path}-journal", JOURNAL_START):
        raise ResultError(f"{path}: another program is writing it, or was stopped while it did; allowed: a closed database")


def plain_tables(connection):
    """Returns the names of plain tables, whose rows are stored in the file."""
    tables = set()
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"):
        quoted = '"' + name.replace('"', '""') + '"'
        if all(column[6] == 0 for column in connection.execute(f"PRAGMA table_xinfo({quoted})")):
            tables.add(name)
    return tables


def open_database(path):
    """Returns a connection to an existing SQLite file. Raises sqlite3.Error, ResultError."""
    refuse_unfinished(path)
    connection = sqlite3.connect(f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro&immutable=1", uri=True)
    try:
        if hasattr(connection, "setlimit"):
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.execute("PRAGMA trusted_schema = OFF")
        tables = plain_tables(connection) | {"sqlite_master"}
    except BaseException:
        connection.close()
        raise

    def allow(action, first, second, _, within):
        if action == sqlite3.SQLITE_SELECT:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and within is None and (first in tables or first == ""):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and second in FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(allow)
    return connection


def rows_of(cursor):
    """Returns the names of the columns and the rows, with harmless texts."""
    names = [column[0] for column in cursor.description]
    return names, [[plain(value) for value in row] for row in cursor]


def columns_of(connection, table):
    """Returns the names of a table's columns."""
    return [column[0] for column in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]
