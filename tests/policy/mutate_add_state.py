# SPDX-License-Identifier: Apache-2.0
"""Does check-policy find a forgotten member in add_state? Takes every built-in policy that compares its state, leaves
out one statement of its add_state at a time, builds the rest as a plug-in and checks it.

usage: mutate_add_state.py SOURCE_DIR UVMSIM [NAME...]

Prints a line per statement: found, or not found, and exits with 1 if one was not. Takes minutes and is run by hand;
tests/policy/README.md has the result.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def body_of(text, start):
    """From the brace that opens at or after `start` to the one that closes it."""
    begin = text.index("{", start)
    depth = 0
    for place in range(begin, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return begin, place + 1
    raise ValueError("a brace is not closed")


def statements_of(text):
    """(place, end) of the statements of add_state that add something."""
    found = []
    for function in re.finditer(r"void add_state\(", text):
        begin, end = body_of(text, function.end())
        for call in re.finditer(r"[;{})]\s*([\w.\->]*\badd\w*\()", text[begin:end]):
            place = begin + call.start(1)
            depth, stop = 1, begin + call.end(1)
            while depth != 0:
                depth += (text[stop] == "(") - (text[stop] == ")")
                stop += 1
            if text[stop] == ";" and re.search(r"digest|part", text[place:stop]):
                found.append((place, stop + 1))
    return found


def check(source, uvmsim, path, number, place, end):
    text = path.read_text()
    statement = " ".join(text[place:end].split())
    name = path.stem if not path.stem[0].isdigit() else f"p{path.stem}"
    changed = text[:place] + ";" + text[end:]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / f"{name}.cpp"
        changed = re.sub(r"UVMSIM_POLICY\((\w+),", rf"UVMSIM_POLICY(\1_without_{number},", changed)
        changed = re.sub(r'\.name = "\w+",?', "", changed)
        file.write_text(changed)
        plugin = file.with_suffix(".so")
        build = ["g++", "-std=c++20", "-O0", "-shared", "-fPIC", "-w", "-DFMT_SHARED", f"-I{source}", str(file), "-o", str(plugin)]
        built = subprocess.run(build, capture_output=True, text=True)
        if built.returncode != 0:
            return path.stem, statement, "does not compile: " + built.stderr.strip().splitlines()[0]
        ran = subprocess.run([uvmsim, "check-policy", str(plugin)], capture_output=True, text=True)
        if ran.returncode not in (0, 1) or ran.stderr:
            return path.stem, statement, ran.stderr.strip()
        return path.stem, statement, "found" if "add_state does not tell all" in ran.stdout else "not found"


def main():
    source, uvmsim, names = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve()), sys.argv[3:]
    jobs = []
    for path in sorted(source.glob("policies/*/*.cpp")):
        if path.parent.name == "examples" or (names and path.stem not in names):
            continue
        text = path.read_text()
        jobs += [(source, uvmsim, path, number, *where) for number, where in enumerate(statements_of(text))]
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for name, statement, outcome in pool.map(lambda job: check(*job), jobs):
            missed += outcome != "found"
            print(f"{name}: {outcome}: {statement}", flush=True)
    print(f"{len(jobs) - missed} of {len(jobs)} found")
    return 1 if missed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
