#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how many test cases a build's last run had, and the ten that took longest.

usage: slowest_tests.py BUILD_DIR

Reads what ctest and the GoogleTest programs wrote: Testing/ctest.xml (ctest --output-junit) and Testing/cases/*.json. A
test of ctest that is no GoogleTest program is one case."""

import json
import pathlib
import sys
import xml.etree.ElementTree

COUNT = 10


def cases_of(program, report):
    """(seconds, name, outcome) of each case of a GoogleTest report."""
    for suite in report["testsuites"]:
        for case in suite["testsuite"]:
            if case["status"] == "NOTRUN":
                continue
            outcome = "failed" if "failures" in case else "skipped" if case["result"] == "SKIPPED" else "passed"
            yield float(case["time"].rstrip("s")), f"{program}: {suite['name']}.{case['name']}", outcome


def all_cases(folder):
    for test in xml.etree.ElementTree.parse(folder / "ctest.xml").iter("testcase"):
        if test.get("status") == "disabled":
            continue
        report = folder / "cases" / f"{test.get('name')}.json"
        if report.exists():
            yield from cases_of(test.get("name"), json.loads(report.read_text()))
        else:
            outcome = {"run": "passed", "fail": "failed"}.get(test.get("status"), "skipped")
            yield float(test.get("time")), test.get("name"), outcome


def main():
    cases = sorted(all_cases(pathlib.Path(sys.argv[1]) / "Testing"), reverse=True)
    outcomes = [outcome for _, _, outcome in cases]
    print(", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in ("passed", "failed", "skipped")), "test cases;")
    print("the slowest:")
    for seconds, name, _ in cases[:COUNT]:
        print(f"{seconds:8.1f} s  {name}")


if __name__ == "__main__":
    main()
