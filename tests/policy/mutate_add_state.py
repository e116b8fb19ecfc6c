# SPDX-License-Identifier: Apache-2.0
"""Does check-policy find a member that add_state forgets? Leaves out one statement of an add_state at a time, in the
built-in
policies that compare their state and in the headers that they use, builds a plug-in and checks it.

usage: mutate_add_state.py SOURCE_DIR UVMSIM [NAME...]

NAME is a policy or a header without its ending. Prints a line per statement with the checks that found it, or "not
found", and
exits with 1 if one was not found. A statement of a header counts as found if the checks find it in one policy that
includes the
header. It takes minutes and is run by hand; tests/policy/README.md has the result.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def body_of(text, start):
    """Returns the text from the brace that opens at or after `start` to the brace that closes it."""
    begin = text.index("{", start)
    depth = 0
    for place in range(begin, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return begin, place + 1
    raise ValueError("a brace is not closed")


def statements_of(text):
    """Returns (place, end) of each statement of add_state that adds a member."""
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


HEADER = re.compile(r'#include "((?:policies|sim/policy)/[^"]+)"')


def includes(source, path):
    """Returns the headers of policies that a file includes, directly or indirectly."""
    seen, todo = set(), [path]
    while todo:
        for name in HEADER.findall(todo.pop().read_text()):
            if name not in seen and (source / name).exists():
                seen.add(name)
                todo.append(source / name)
    return seen


def check_plugin(source, uvmsim, path, number, text, headers):
    """Runs check-policy on the policy in `path` with this text and with these headers, by name, in place of the
    originals."""
    name = path.stem if not path.stem[0].isdigit() else f"p{path.stem}"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        file = folder / f"{name}.cpp"
        text = re.sub(r"UVMSIM_POLICY\((\w+),", rf"UVMSIM_POLICY(\1_without_{number},", text)
        file.write_text(re.sub(r'\.name = "\w+",?', "", text))
        for header, changed in headers.items():
            (folder / header).parent.mkdir(parents=True, exist_ok=True)
            (folder / header).write_text(changed)
        plugin = file.with_suffix(".so")
        # Symbols of the program must not replace the plug-in's own.
        build = ["g++", "-std=c++20", "-O0", "-shared", "-fPIC", "-w", "-DFMT_SHARED", "-Wl,-Bsymbolic",
                 f"-I{folder}", f"-I{source}", str(file), "-o", str(plugin)]  # fmt: skip
        built = subprocess.run(build, capture_output=True, text=True)
        if built.returncode != 0:
            return "does not compile: " + built.stderr.strip().splitlines()[0]
        ran = subprocess.run([uvmsim, "check-policy", str(plugin)], capture_output=True, text=True)
        if ran.returncode not in (0, 1) or ran.stderr:
            return ran.stderr.strip()
        # The names of the checks begin a line; their texts continue over several lines.
        verdicts = re.split(r"^  (?:ok|WRONG) +", ran.stdout, flags=re.MULTILINE)
        told = [" ".join(verdict.split()) for verdict in verdicts]
        names = [re.split(r"  +", raw)[0] for raw, text in zip(verdicts, told) if "add_state does not tell all" in text]
        return f"found by {' and '.join(names)}" if names else "not found"


def check(source, uvmsim, path, number, place, end, users):
    text = path.read_text()
    statement = " ".join(text[place:end].split())
    changed = text[:place] + ";" + text[end:]
    if path.suffix == ".cpp":
        return path.stem, statement, check_plugin(source, uvmsim, path, number, changed, {})
    outcome = "not found: no policy that compares its state uses it"
    for user in users:
        headers = {str(path.relative_to(source)): changed}
        outcome = check_plugin(source, uvmsim, user, number, user.read_text(), headers)
        if outcome != "not found":
            break
    return path.name, statement, outcome


def main():
    source, uvmsim, names = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve()), sys.argv[3:]
    policies = [path for path in sorted(source.glob("policies/*/*.cpp")) if path.parent.name != "examples"]
    headers = sorted([*source.glob("policies/**/*.h"), *source.glob("sim/policy/*.h")])
    jobs = []
    for path in [*policies, *headers]:
        if names and path.stem not in names:
            continue
        statements = statements_of(path.read_text())
        name = str(path.relative_to(source))
        users = [user for user in policies if statements and path.suffix == ".h" and name in includes(source, user)]
        jobs += [(source, uvmsim, path, number, *where, users) for number, where in enumerate(statements)]
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for name, statement, outcome in pool.map(lambda job: check(*job), jobs):
            missed += not outcome.startswith("found")
            print(f"{name}: {outcome}: {statement}", flush=True)
    print(f"{len(jobs) - missed} of {len(jobs)} found")
    return 1 if missed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
