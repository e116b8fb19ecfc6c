# SPDX-License-Identifier: Apache-2.0
"""Runs several commands at once on one file or folder: nothing is lost that one of them reported as written."""

import json
import re
import unittest

from command import SYSTEM, CommandTest


class RaceTest(CommandTest):
    def at_once(self, *commands):
        """Starts all commands, then waits for each: [(exit status, output, errors)]."""
        running = [self.start(*command) for command in commands]
        done = []
        for process in running:
            out, err = process.communicate(timeout=300)
            done.append((process.returncode, out.decode(), err.decode()))
        return done

    def points(self, name):
        return json.loads((self.folder / name).read_text())["points"]

    def test_baselines_grow_by_every_point(self):
        self.small_trace()
        for round_ in range(3):
            name = f"b{round_}.json"
            done = self.at_once(*(("check", name, "--new", "a.uvmt", *SYSTEM, "--osf", osf) for osf in ("1", "1.5", "2", "3", "4")))
            self.assertEqual([code for code, _, _ in done], [0] * 5, done)
            self.assertEqual(len(self.points(name)), 5)

    def test_baselines_of_sweeps_and_of_runs(self):
        self.small_trace()
        self.write("s.json", json.dumps({"traces": "a.uvmt", "systems": SYSTEM[1], "osf": [1, 1.25]}))
        self.run_ok("sweep", "s.json", "-o", "s")
        done = self.at_once(
            ("check", "b.json", "--from", "s"),
            ("check", "b.json", "--new", "a.uvmt", *SYSTEM, "--osf", "2"),
            ("check", "b.json", "--new", "a.uvmt", *SYSTEM, "--osf", "3"),
        )
        self.assertEqual([code for code, _, _ in done], [0] * 3, done)
        names = [point["name"] for point in self.points("b.json")]
        self.assertEqual(len(names), len(set(names)), names)
        self.assertEqual(len(names), 4)

    def test_updates_of_different_points(self):
        self.small_trace()
        self.run_ok("check", "b.json", "--new", "a.uvmt", *SYSTEM, "--osf", "1.5,2,3")
        path = self.folder / "b.json"
        names = [point["name"] for point in self.points("b.json")]
        path.write_text(re.sub(r'"total_ns": \d+', '"total_ns": 1', path.read_text()))
        done = self.at_once(*(("check", "b.json", "--update", "--only", name) for name in names))
        self.assertEqual([code for code, _, _ in done], [0] * 3, done)
        self.assertNotIn('"total_ns": 1,', path.read_text())
        self.assertNotRegex(path.read_text(), r'"total_ns": 1\b')

    def test_a_point_that_changed_while_it_ran_is_not_updated(self):
        """An update writes over a file only if it is the one that was read."""
        self.small_trace()
        self.run_ok("check", "b.json", "--new", "a.uvmt", *SYSTEM, "--osf", "2")
        before = (self.folder / "b.json").read_text()
        self.run_ok("check", "b.json", "--update")
        self.assertEqual((self.folder / "b.json").read_text(), before)

    def test_the_same_sweep_four_times_is_one(self):
        self.small_trace()
        self.write("s.json", json.dumps({"traces": "a.uvmt", "systems": SYSTEM[1], "osf": [1, 1.25, 1.5, 2]}))
        for round_ in range(2):
            done = self.at_once(*(("sweep", "s.json", "-o", f"s{round_}", "-j", "1") for _ in range(4)))
            self.assertEqual([code for code, _, _ in done], [0] * 4, done)
            self.assertTrue((self.folder / f"s{round_}" / "results.sqlite").exists())

    def test_another_sweep_is_refused_while_one_runs_or_comes_after_it(self):
        self.small_trace()
        self.write("s.json", json.dumps({"traces": "a.uvmt", "systems": SYSTEM[1], "osf": [1, 1.25, 1.5, 2]}))
        self.write("o.json", json.dumps({"traces": "a.uvmt", "systems": SYSTEM[1], "osf": [3]}))
        for code, _, err in self.at_once(*(("sweep", name, "-o", "s") for name in ("s.json", "o.json"))):
            self.assertIn(code, (0, 2), err)
            if code == 2:
                self.assertIn("another sweep", err.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
