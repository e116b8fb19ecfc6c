#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that files, folders and members that a Markdown page names exist:
- files: the targets of its links, and texts in backticks that look like a source file, a script or a page. Such a
  name is the end of a file's path: `context.h`, `driver/context.h`; the first cells of a table of files name those of
  the page's folder;
- folders: `../memory`;
- members: for `FaultService::service` some C++ file must contain both words.

usage: named_files.py SOURCE_DIR
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"[\w./{},*-]+\.(?:h|cpp|cu|cuh|py|sh|cmake|proto|md|in|yml)")
FOLDER = re.compile(r"(?:\.\./)+[\w/]+")
MEMBER = re.compile(r"([A-Za-z_]\w*)::(\w+)(?:\(\))?")
# Patterns of names that are not files of this project: of readers, of the site's build, of other projects' sources.
OTHERS = ("x_*", "NAME.*", "mine.*", "my_policy.*", "train.py", "reference/*", "arch_traits.h", "tbe/*", "build/*", "[.]*", "/*")
NAMESPACES = ("uvmsim", "std", "testing", "torch", "at", "c10", "json", "nlohmann", "fmt", "cuda", "benchmark")


def expand(name):
    """Expands `a.{h,cpp}` to two names."""
    match = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    return [match[1] + part + match[3] for part in match[2].split(",")] if match else [name]


def named(text):
    """Yields (line, name, kind)."""
    files_here = False  # the current table lists files
    for number, line in enumerate(text.split("\n"), 1):
        files_here = line.startswith("| file |") or (files_here and line.startswith("|"))
        if files_here:
            for code in CODE.findall(line.split("|")[1]):
                for name in filter(NAME.fullmatch, expand(code)):
                    yield number, name, "here"
        for target in LINK.findall(line):
            if not re.match(r"[a-z]+:", target):
                yield number, target, "link"
        for code in CODE.findall(line):
            for word in filter(NAME.fullmatch, code.split()):
                for name in expand(word):
                    yield number, name, "file"
            if FOLDER.fullmatch(code):
                yield number, code, "link"
            elif (member := MEMBER.fullmatch(code)) and member[1] not in NAMESPACES:
                yield number, code, "member"


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run(["git", "ls-files"], cwd=source, capture_output=True, text=True, check=True).stdout.split()
    ends = {path[at:] for path in listed for at in [0, *(m.end() for m in re.finditer("/", path))]}
    words = [
        set(re.findall(r"\w+", (source / path).read_text())) for path in listed if path.endswith((".h", ".cpp", ".cu", ".cuh"))
    ]
    wrong = []
    for page in filter(lambda path: path.endswith(".md"), listed):
        for line, name, kind in named((source / page).read_text()):
            if any(fnmatch.fnmatch(name, pattern) for pattern in OTHERS):
                there = True
            elif kind == "here" and not name.startswith("../"):
                there = next((source / page).parent.rglob(name), None)
            elif kind in ("link", "here"):
                there = (source / page).parent.joinpath(name).exists()
            elif kind == "member":
                there = any(set(MEMBER.fullmatch(name).groups()) <= file for file in words)
            else:
                there = name in ends or ("*" in name and fnmatch.filter(ends, name))
            if not there:
                wrong.append(f"{page}:{line}: there is no {name}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
