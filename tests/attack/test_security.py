# SPDX-License-Identifier: Apache-2.0
"""Checks that every sentence of SECURITY.md about what a stranger's file can do names a test, and that each of these
exists."""

import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = re.compile(r"TEST(?:_F|_P)?\((\w+),\s*(\w+)\)")
NAME = re.compile(r"`([^`]+)`")


def known_tests():
    """Returns the names of all tests: `Suite.Case` of C++, `file.Class.test_case` of Python, fuzzers by their target."""
    names = set()
    for path in (ROOT / "tests").rglob("*.cpp"):
        text = path.read_text(encoding="utf-8")
        names.update(f"{suite}.{case}" for suite, case in CPP.findall(text))
        if "LLVMFuzzerTestOneInput" in text:
            names.add(path.stem)
    for path in (ROOT / "tests").rglob("test_*.py"):
        for one in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(one, ast.ClassDef):
                names.update(f"{path.stem}.{one.name}.{part.name}" for part in one.body if isinstance(part, ast.FunctionDef))
    return names


def sentences():
    """Yields (sentence, names of tests) of the rows below "What files of others can do"."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    section = text.split("## What files of others can do")[1].split("\n## ")[0]
    rows = [line.strip().strip("|").rsplit("|", 1) for line in section.splitlines() if line.startswith("|")]
    return [(sentence.strip(), NAME.findall(tests)) for sentence, tests in rows if set(tests.strip()) - set("-") and tests.strip() != "test"]


class SecurityTest(unittest.TestCase):
    def test_every_sentence_names_tests_that_exist(self):
        known = known_tests()
        rows = sentences()
        self.assertGreater(len(rows), 20)
        for sentence, tests in rows:
            self.assertTrue(tests, f"no test: {sentence}")
            for name in tests:
                self.assertIn(name, known, sentence)

    def test_every_row_is_one_sentence(self):
        for sentence, _ in sentences():
            text = NAME.sub("", sentence)
            self.assertTrue(sentence.endswith("."), sentence)
            self.assertEqual(len(re.findall(r"\.(?:\s|$)", text)), 1, sentence)


if __name__ == "__main__":
    unittest.main()
