# SPDX-License-Identifier: Apache-2.0
"""Tests with results of strangers: invalid numbers, databases that contain programs, names that contain markup."""

import contextlib
import csv
import itertools
import json
import math
import os
import pathlib
import sqlite3
import unittest

from commands import FolderTest, call
from synthetic import Point, result_of, write_database, write_lines
from synthetic_profile import write_profile

from analysis import __main__ as everything
from analysis import plot_bounds, plot_heatmap, plot_osf, plot_policies, profile_tables
from analysis.json_text import parse_json
from analysis.plain_text import UNPRINTABLE, csv_cell, plain

# Each looks harmless to a program that only passes it on.
NAMES = (
    "a$^$",
    "$\\frac{1}{$",
    "x_{y}^{",
    "two\nlines",
    "\x1b[31mred\x07",
    "left‮tfel⁦",
    "zero​width﻿",
    "=1+1",
    "@SUM(A1)",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "<b>&amp;\"'",
    "%s %d {0} #",
    "\\input{/etc/passwd}",
)
NO_NUMBERS = ("NaN", "-Infinity", "1" + "0" * 400, "1e999", '"text"', "[1]", "{}", "true", "-1", "1e30")


def sweep(name="slow"):
    return [Point(name, osf=osf, duration_ns=3000 * (2 if osf == 2.0 else 1)) for osf in (None, 1.0, 2.0)]


def leaves(value, path=()):
    """Yields the places of all numbers in a JSON value."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, (int, float)):
        yield path
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(one, (*path, key))


def put(value, path, leaf):
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = leaf


class TextTest(unittest.TestCase):
    def test_the_rule(self):
        self.assertEqual(plain("a\nb\x1b\x85‮﻿é€𝄞"), "a?b????é€𝄞")
        self.assertEqual(plain(7), 7)
        self.assertEqual([csv_cell(one) for one in ("=1", "@a", "-2", "-2+3", "+5e3", 4, "a")], ["'=1", "'@a", "-2", "'-2+3", "+5e3", 4, "a"])

    def test_json_has_numbers_only(self):
        for text in ("NaN", "[Infinity]", "1e999", "1" * 21):
            with self.assertRaises(ValueError, msg=text):
                parse_json(text)
        self.assertEqual(parse_json("[18446744073709551615, 1e300]"), [18446744073709551615, 1e300])


class NumberTest(FolderTest):
    def test_in_every_place_of_a_result(self):
        """Expects one line and exit status 2, unless the command does not read this value."""
        points = sweep()
        result = result_of(points[2], points)
        refused = 0
        for number, place in enumerate(leaves(result)):
            marked = json.loads(json.dumps(result))
            put(marked, place, "MARK")
            text = json.dumps(marked)
            for leaf in itertools.islice(itertools.cycle(NO_NUMBERS), number, number + 2):
                path = self.write("r.json", text.replace('"MARK"', leaf) + "\n")
                status, out, err = call(plot_osf.main, path)
                self.assertIn(status, (0, 2), (place, leaf))
                self.assertNotIn("Traceback", out + err)
                self.assertEqual(err.count("\n"), status // 2, (place, leaf, err))
                refused += status == 2
        self.assertGreater(refused, 50)

    def test_not_a_number_is_one_line(self):
        points = sweep()
        text = json.dumps(result_of(points[2], points))
        for leaf in ("NaN", "1" + "0" * 400):
            path = self.write("r.json", text.replace('"osf_thousandths": 2000', f'"osf_thousandths": {leaf}'))
            self.assert_refused(everything.main, path, "-o", self.path("out"), says="not JSON")
            self.assertFalse(os.path.exists(self.path("out")))

    def test_of_the_wrong_kind_in_a_database(self):
        for column in ("total_ns", "capacity_bytes", "osf_thousandths", "settled_ns", "seed"):
            for value in ("text", math.inf, -1, b"blob", None):
                path = write_database(sweep(), self.path(f"{column}.sqlite"))
                with contextlib.closing(sqlite3.connect(path)) as connection:
                    connection.execute(f"UPDATE points SET {column} = ?", [value])
                    connection.commit()
                status, out, err = call(plot_osf.main, path)
                self.assertIn(status, (0, 2), (column, value))
                self.assertEqual(err.count("\n"), status // 2, (column, value, err))
                self.assertNotIn("Traceback", out + err)
                os.remove(path)

    def test_sizes_of_a_heat_map(self):
        profile = write_profile(self.path("a.profile"))
        for column, value in (("time_buckets", 1 << 60), ("address_buckets", 0), ("bucket_bytes", "text"), ("bucket_ns", None)):
            with contextlib.closing(sqlite3.connect(profile)) as connection:
                before = connection.execute(f"SELECT {column} FROM heat_grid").fetchone()[0]
                connection.execute(f"UPDATE heat_grid SET {column} = ?", [value])
                connection.commit()
            self.assert_refused(plot_heatmap.main, profile, "-o", self.path("h.png"), says=f"heat_grid: {column}")
            with contextlib.closing(sqlite3.connect(profile)) as connection:
                connection.execute(f"UPDATE heat_grid SET {column} = ?", [before])
                connection.commit()


class DatabaseTest(FolderTest):
    ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM {0}_, n"

    def replaced(self, path, table, definition):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute(f"ALTER TABLE {table} RENAME TO {table}_")
            connection.execute(definition)
            connection.commit()
        return path

    def test_an_endless_view_is_no_table(self):
        path = write_database(sweep(), self.path("a.sqlite"))
        self.replaced(path, "points", f"CREATE VIEW points AS {self.ENDLESS.format('points')}")
        self.assert_refused(plot_osf.main, path, says="not a sweep of uvmsim")
        profile = write_profile(self.path("a.profile"))
        with contextlib.closing(sqlite3.connect(profile)) as connection:
            connection.execute("DROP VIEW IF EXISTS kernels")
            connection.commit()
        self.replaced(profile, "operations", f"CREATE VIEW operations AS {self.ENDLESS.format('operations')}")
        self.assert_refused(profile_tables.main, profile, says="not a profile of uvmsim")

    def test_a_computed_column_is_not_computed(self):
        path = write_database(sweep(), self.path("a.sqlite"))
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("ALTER TABLE points ADD COLUMN bomb AS (hex(zeroblob(400000000)))")
            connection.commit()
        self.assert_refused(plot_osf.main, path, says="not a sweep of uvmsim")

    def test_a_virtual_table_is_no_table(self):
        path = write_database(sweep(), self.path("a.sqlite"))
        try:
            self.replaced(path, "sweep", "CREATE VIRTUAL TABLE sweep USING fts5(schema, complete)")
        except sqlite3.Error:
            self.skipTest("this SQLite has no fts5")
        self.assert_refused(plot_osf.main, path, says="not a sweep of uvmsim")

    def test_nothing_appears_beside_a_database(self):
        for write, main in ((write_database, plot_osf.main), (write_profile, profile_tables.main)):
            path = self.path("w.sqlite")
            if write is write_database:
                write(sweep(), path)
            else:
                write(path)
            with contextlib.closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("CREATE TABLE more (x)")
                connection.commit()
            before = sorted(os.listdir(self.folder))
            stamp = os.stat(path).st_mtime_ns
            self.assertEqual(call(main, path)[0], 0)
            self.assertEqual((sorted(os.listdir(self.folder)), os.stat(path).st_mtime_ns), (before, stamp))
            os.remove(path)

    def test_one_that_is_being_written_is_refused(self):
        path = write_database(sweep(), self.path("w.sqlite"))
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE more (x)")
            connection.commit()  # this part is only in the log file
            self.assert_refused(plot_osf.main, path, says="another program is writing it")


class NameTest(FolderTest):
    def assert_plain(self, text):
        for line in text.splitlines():
            self.assertIsNone(UNPRINTABLE.search(line), line)

    def test_in_figures_and_csv(self):
        # All names are programs of one figure.
        path = write_lines([point for name in NAMES for point in sweep(name)], self.path("all.jsonl"))
        out = self.path("out")
        status, printed, err = call(everything.main, path, "-o", out)
        self.assertEqual((status, err), (0, ""))
        self.assert_plain(printed)
        self.assertTrue(os.path.getsize(f"{out}/osf.png"))
        with open(f"{out}/points.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        self.assertEqual(len(rows), 1 + 3 * len(NAMES))
        for cell in itertools.chain(*rows):
            self.assertIsNone(UNPRINTABLE.search(cell), cell)
            self.assertNotIn(cell[:1], ("=", "@"), cell)

    def test_in_tables(self):
        for name in NAMES:
            path = write_lines(sweep(name), self.path("a.jsonl"))
            for main in (plot_osf.main, plot_policies.main):
                for options in ((), ("--latex",)):
                    status, printed, err = call(main, path, *options)
                    self.assertEqual((status, err), (0, ""), name)
                    self.assert_plain(printed)

    def test_of_layouts_and_policies(self):
        for name in NAMES[:4]:
            points = [Point("p", layout=name, osf=osf) for osf in (None, 1.0, 2.0)]
            for point in points:
                point.prefetch = name
            path = write_lines(points, self.path("l.jsonl"))
            for main in (plot_osf.main, plot_bounds.main, plot_policies.main):
                status, printed, err = call(main, path, "-o", self.path("l.png"), "--table")
                self.assertIn(status, (0, 2), err)
                self.assertNotIn("Traceback", printed + err)
                self.assertLessEqual(err.count("\n"), 1, err)
                self.assert_plain(printed + err)

    def test_of_kernels_in_profiles(self):
        profile = write_profile(self.path("a.profile"))
        with contextlib.closing(sqlite3.connect(profile)) as connection:
            for name_id, name in zip([row[0] for row in connection.execute("SELECT name_id FROM names")], NAMES[3:]):
                connection.execute("UPDATE names SET name = ? WHERE name_id = ?", [name, name_id])
            connection.commit()
        for by in ("kernel", "layer", "tensor"):
            status, printed, err = call(profile_tables.main, profile, "--by", by, "--csv", self.path("t.csv"))
            self.assertEqual((status, err), (0, ""))
            self.assert_plain(printed)
            text = pathlib.Path(self.path("t.csv")).read_text(encoding="utf-8")
            self.assert_plain(text)
            self.assertNotRegex(text, r"(?m)(^|,)[=@]")

    def test_an_error_is_one_line_of_a_length_that_people_read(self):
        path = self.write("a.jsonl", json.dumps({"schema": "x" * 300000 + "\n\x1b[2J"}))
        status, _, err = call(plot_osf.main, path)
        self.assertEqual((status, err.count("\n")), (2, 1))
        self.assertLess(len(err), 2100)
        self.assert_plain(err)


if __name__ == "__main__":
    unittest.main()
