# SPDX-License-Identifier: Apache-2.0
"""Reads a JUnit report as CI systems do and checks its shape; the points are those of junit.sh."""

import sys
import xml.etree.ElementTree as ElementTree


def counted(suite):
    cases = suite.findall("testcase")
    return {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
    }


def main(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites", root.tag
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for suite in root:
        assert suite.tag == "testsuite" and suite.get("name"), suite.attrib
        for key, value in counted(suite).items():
            assert int(suite.get(key)) == value, (key, suite.attrib)
            totals[key] += value
        for case in suite:
            assert case.tag == "testcase" and case.get("name") and case.get("classname"), case.attrib
            assert len(case) <= 1 and all(child.get("message") for child in case), case.attrib
    for key, value in totals.items():
        assert int(root.get(key)) == value, (key, root.attrib)

    cases = root.findall("testsuite/testcase")
    assert totals == {"tests": 3, "failures": 1, "errors": 1}, totals
    assert cases[0].get("name") == "a <b> & \"c\" 'd' \u00e9", cases[0].attrib
    assert cases[1].find("failure").get("message").startswith("fault_batches is "), cases[1].find("failure").attrib
    assert "fault_batches" in cases[1].find("failure").text
    assert "gone & <lost>.jsonl" in cases[2].find("error").get("message"), cases[2].find("error").attrib
    print(f"{path}: {totals}")


main(sys.argv[1])
