#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler of a unity build does:
- a room of sim/ includes only the rooms that sim/README.md's table allows it, and none includes another in a circle;
- names in anonymous namespaces are unique within a room, as a unity build compiles many files of one as one.
Exit code 1 when something is wrong. --fix writes what each room uses into the table, for a look at what changed."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'#include "sim/([a-z]+)/([a-z_0-9]+\.h)"')
# A definition at the outer level of an anonymous namespace: the name before "(", "=", "{" or ";".
CONSTANT = re.compile(r"^(?:inline |static )*constexpr .*?\b(k[A-Z]\w*)(?:\[\w*\])?(?: = |\{|\()")
TYPE = re.compile(r"^(?:class|struct|enum class) (\w+)(?: final)?[ :{]")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def sources():
    listed = subprocess.run(["git", "ls-files", "sim"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split() if path.endswith((".h", ".cpp")) and path.count("/") == 2]


def allowed_rooms():
    """The table of sim/README.md: room -> the rooms it may use."""
    text = read("sim/README.md")
    table = text[text.index("| room | contents | uses") :].split("\n\n")[0]
    rooms = {}
    for row in table.split("\n")[2:]:
        room, _, uses = (cell.strip() for cell in row.strip("|").split("|"))
        if not room.startswith("`"):
            continue  # a heading within the table
        rooms[room.strip("`")] = None if uses == "all" else set(re.findall(r"[a-z]+", re.sub(r"\([^)]*\)", "", uses)))
    return rooms


def write_table(used):
    """Fills the column of used rooms of the table in sim/README.md."""
    text = read("sim/README.md")
    lines = text.split("\n")
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        room = cells[0].strip("`")
        if line.startswith("| `") and len(cells) == 3 and room in used and cells[2] != "all":
            names = ", ".join(sorted(set(used[room]) - {"common"})) or "–"
            lines[number] = f"| {cells[0]} | {cells[1]} | {names} |"
    with open(os.path.join(ROOT, "sim/README.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def used_rooms(paths):
    used = {}
    for path in paths:
        room = path.split("/")[1]
        used.setdefault(room, {})
        for other, _ in INCLUDE.findall(read(path)):
            if other != room:
                used[room].setdefault(other, path)
    return used


def circle(used):
    """A list of rooms that include one another in a circle, or nothing."""
    done, path = set(), []

    def visit(room):
        if room in path:
            return path[path.index(room) :] + [room]
        if room in done:
            return None
        path.append(room)
        for other in used.get(room, {}):
            found = visit(other)
            if found:
                return found
        path.pop()
        done.add(room)
        return None

    return next(filter(None, map(visit, sorted(used))), None)


def check_rooms(paths):
    allowed, used = allowed_rooms(), used_rooms(paths)
    wrong = []
    for room, others in sorted(used.items()):
        if room not in allowed:
            wrong.append(f"sim/README.md: the table of rooms lacks {room}")
            continue
        if allowed[room] is None:
            continue
        for other, path in sorted(others.items()):
            if other != "common" and other not in allowed[room]:
                wrong.append(f"{path}: {room} includes {other}, which sim/README.md does not allow")
        for other in sorted(allowed[room] - set(others) - {"common"}):
            wrong.append(f"sim/README.md: {room} is said to use {other}, but does not")
    for room in sorted(set(allowed) - set(used) - {"common"}):
        wrong.append(f"sim/README.md: there is no room {room}")
    found = circle(used)
    if found:
        wrong.append("rooms include one another in a circle: " + " -> ".join(found))
    return wrong


def anonymous_names(path):
    """Constants and types at the outer level of a file's anonymous namespaces. Functions may be overloaded."""
    inside = False
    for line in read(path).split("\n"):
        if line.startswith("namespace {"):
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside:
            for pattern in (CONSTANT, TYPE):
                match = pattern.match(line)
                if match and not line.rstrip().endswith(";" if pattern is TYPE else "\0"):
                    yield match.group(1)


def check_names(paths):
    wrong, seen = [], {}
    for path in paths:
        if not path.endswith(".cpp"):
            continue
        for name in anonymous_names(path):
            other = seen.setdefault((path.split("/")[1], name), path)
            if other != path:
                wrong.append(f"{path}: '{name}' is in an anonymous namespace of {other}, too")
    return wrong


if __name__ == "__main__":
    files = sources()
    if sys.argv[1:] == ["--fix"]:
        write_table(used_rooms(files))
    problems = check_rooms(files) + check_names(files)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
