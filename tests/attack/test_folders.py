# SPDX-License-Identifier: Apache-2.0
"""Checks that commands which read a folder leave it unchanged, except for the outputs named on the command line."""

import contextlib
import hashlib
import json
import os
import sqlite3
import unittest

from command import SYSTEM, CommandTest


class FolderTest(CommandTest):
    def state(self):
        """Returns names, contents and times of all files."""
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.folder)] = (hashlib.sha256(file.read()).hexdigest(), os.stat(path).st_mtime_ns)
        return found

    def assert_only(self, outputs, *command):
        """Runs the command, which must succeed, and expects that only these files are new or changed."""
        before = self.state()
        done = self.run_measured(*command)
        self.assertIn(done.code, (0, 1), (command, done.err))
        after = self.state()
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        self.assertEqual(changed, set(outputs), command)
        for name in outputs:
            os.remove(self.folder / name)

    def in_wal_mode(self, name):
        with contextlib.closing(sqlite3.connect(self.folder / name)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE more (x)")
            connection.commit()
        return name

    def test_of_every_command_that_reads(self):
        self.small_trace()
        self.write("s.json", json.dumps({"traces": "a.uvmt", "systems": SYSTEM[1], "osf": [1, 2]}))
        self.run_ok("run", "a.uvmt", *SYSTEM, "--osf", "2", "--json", "r.json", "--profile", "p.sqlite")
        self.run_ok("sweep", "s.json", "-o", "sweep")
        self.run_ok("check", "b.json", "--new", "a.uvmt", *SYSTEM)
        for outputs, command in (
            ((), ("run", "a.uvmt", *SYSTEM)),
            (("o.json", "o.csv"), ("run", "a.uvmt", *SYSTEM, "--json", "o.json", "--csv", "o.csv")),
            ((), ("bounds", "a.uvmt", *SYSTEM)),
            ((), ("check", "b.json")),
            ((), ("compare", "r.json", "r.json")),
            ((), ("compare", "sweep", "sweep")),
            ((), ("sweep", "s.json", "--dry-run", "-o", "sweep")),
            ((), ("sweep", "status", "sweep")),
            (("page.html",), ("report", "r.json", "-o", "page.html")),
            (("page.html",), ("report", "p.sqlite", "-o", "page.html")),
            (("page.html",), ("report", "sweep", "-o", "page.html")),
            ((), ("trace", "info", "a.uvmt")),
            ((), ("trace", "validate", "a.uvmt")),
            ((), ("trace", "dump", "a.uvmt")),
            (("d.jsonl",), ("trace", "dump", "a.uvmt", "-o", "d.jsonl")),
            (("p.uvmt",), ("trace", "pack", "a.uvmt", "-o", "p.uvmt")),
            (("o.bin",), ("trace", "export", "oracle-general", "a.uvmt", "-o", "o.bin")),
            ((), ("systems", SYSTEM[1])),
            ((), ("policies",)),
        ):
            with self.subTest(" ".join(command)):
                self.assert_only(outputs, *command)

    def test_databases_in_wal_mode(self):
        """SQLite would write a log and an index of it beside such databases."""
        with contextlib.closing(sqlite3.connect(self.folder / "n.sqlite")) as connection:
            connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, globalPid)")
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 16777216)")
            connection.commit()
        self.in_wal_mode("n.sqlite")
        self.assert_only(("n.uvmt",), "trace", "import", "nsys", "n.sqlite", "-o", "n.uvmt")
        self.small_trace()
        self.run_ok("run", "a.uvmt", *SYSTEM, "--osf", "2", "--profile", "p.sqlite")
        self.in_wal_mode("p.sqlite")
        self.assert_only(("page.html",), "report", "p.sqlite", "-o", "page.html")

    def test_a_database_that_is_being_written_is_refused(self):
        self.small_trace()
        self.run_ok("run", "a.uvmt", *SYSTEM, "--osf", "2", "--profile", "p.sqlite")
        with contextlib.closing(sqlite3.connect(self.folder / "p.sqlite")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE more (x)")
            connection.commit()  # this part is only in the log file
            self.assert_one_line(self.run_measured("report", "p.sqlite", "-o", "page.html"), "another program is writing it")

    def test_names_that_are_no_plain_address(self):
        """A name with characters that have a meaning in URIs is opened literally."""
        self.small_trace()
        name = "p?mode=rwc#%41 &.sqlite"
        self.run_ok("run", "a.uvmt", *SYSTEM, "--osf", "2", "--profile", name)
        self.assert_only(("page.html",), "report", name, "-o", "page.html")


if __name__ == "__main__":
    unittest.main()
