#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what .clang-format of version 14 cannot say: `if`, `for` and `while` around one simple statement stand on one
line, without braces, where it fits; every other body has braces. An `if` around an assertion of GoogleTest keeps them,
for its macros end in an `else` of their own. --fix changes the files; clang-format comes after."""

import re
import sys

COLUMNS = 120
CONTROL = re.compile(r"( *)(if|for|while) ?(constexpr )?\(.*\)( \{)?$")
# A second control statement, a label or a comment keeps its own line.
NOT_SIMPLE = re.compile(r"(if|for|while|switch|do|case|else|default)\b|[{}#]|.*//")
ASSERTION = re.compile(r"(EXPECT_|ASSERT_|FAIL\(|ADD_FAILURE)")
JOINED_ASSERTION = re.compile(r"( *)(if ?(?:constexpr )?\(.*\)) ((?:EXPECT_|ASSERT_|FAIL\(|ADD_FAILURE).*;)$")


def parentheses(text):
    text = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', "", text)
    return text.count("(") - text.count(")")


def indentation(line):
    return len(line) - len(line.lstrip(" "))


def change(lines, i):
    """Returns the replacement of the lines from `i` on, and their number; None if nothing is wrong."""
    joined = JOINED_ASSERTION.match(lines[i])
    if joined:
        margin, head, body = joined.groups()
        return [f"{margin}{head} {{", f"{margin}  {body}", margin + "}"], 1
    match = CONTROL.match(lines[i])
    if not match or parentheses(lines[i]) != 0 or i + 1 >= len(lines):
        return None
    margin, braces = match.group(1), bool(match.group(4))
    body = lines[i + 1].strip()
    if not braces and (indentation(lines[i + 1]) != len(margin) + 2 or body.startswith("//")):
        return None
    asserts = match.group(2) == "if" and ASSERTION.match(body)
    simple = body.endswith(";") and not NOT_SIMPLE.match(body) and not asserts
    closed = not braces or (i + 2 < len(lines) and lines[i + 2] == margin + "}")
    line = f"{lines[i].removesuffix(' {')} {body}"
    if simple and closed and len(line) <= COLUMNS:
        return [line], 3 if braces else 2
    if braces:
        return None
    end = i + 1
    while end + 1 < len(lines) and indentation(lines[end + 1]) > len(margin) + 2:
        end += 1
    return [lines[i] + " {", *lines[i + 1 : end + 1], margin + "}"], end + 1 - i


def check(path, fix):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    out, i, wrong = [], 0, 0
    while i < len(lines):
        found = change(lines, i)
        changed, count = found or ([lines[i]], 1)
        if found:
            wrong += 1
            if not fix:
                print(f"{path}:{i + 1}: write `{changed[0].strip()}`")
        out += changed
        i += count
    if fix and wrong:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out))
    return 0 if fix else wrong


def main():
    fix = sys.argv[1:2] == ["--fix"]
    return 1 if sum(check(path, fix) for path in sys.argv[1 + fix :]) else 0


if __name__ == "__main__":
    sys.exit(main())
