#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of pages unchanged, block by block in one shell, and shows what they print.

usage: run_readme.py [--carried] PAGE.md...      in the root of the repository, on a machine with a GPU

Blocks are the texts between lines of three backticks, except the block that runs this script. With --carried the
commands were built elsewhere, so the block that builds them with a preset is left out; without it, the block that
uses build/portable is left out. The script ends with the first command that fails.
"""
import subprocess
import sys

MOST_LINES = 40  # number of shown lines of a block's output


def blocks(page):
    """Returns (number of the first line, its text) of each block."""
    inside, out = None, []
    with open(page, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.lstrip().startswith("```"):
                if inside is None:
                    inside = (number + 1, line.index("`"), [])
                else:
                    out.append((inside[0], "".join(inside[2])))
                    inside = None
            elif inside is not None:
                inside[2].append(line[inside[1]:] if line[:inside[1]].isspace() else line)
    return out


class Shell:
    """A bash process; exports and the current folder of a block remain for the next one."""

    MARK = "end of block, status"

    def __init__(self):
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace")

    def run(self, text):
        # A block ends at its first failure, and keeps its exports before that.
        commands = " &&\n".join(joined(text))
        self.process.stdin.write(f"{{ {commands}\n}} </dev/null; status=$?; echo; echo '{self.MARK}' $status\n")
        self.process.stdin.flush()
        out = []
        for line in self.process.stdout:
            if line.startswith(self.MARK):
                return int(line.split()[-1]), out
            out.append(line)
        sys.exit("the shell ended")


def joined(text):
    """Returns the commands, with lines that end in a backslash joined to the next."""
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]


def main(arguments):
    carried = "--carried" in arguments
    left_out = "--preset" if carried else "build/portable"
    shell = Shell()
    for page in (a for a in arguments if a != "--carried"):
        for number, text in blocks(page):
            print(f"\n== {page}:{number}")
            if "run_readme.py" in text:
                continue
            if left_out in text:
                print("left out: " + ("the commands were built elsewhere" if carried else "for commands built elsewhere"))
                continue
            print("".join(f"$ {line}\n" for line in text.splitlines()), end="")
            status, printed = shell.run(text)
            while printed and not printed[-1].strip():
                printed.pop()
            if len(printed) > MOST_LINES:
                printed = [f"({len(printed) - MOST_LINES} lines before)\n"] + printed[-MOST_LINES:]
            sys.stdout.writelines(printed)
            sys.stdout.flush()
            if status != 0:
                sys.exit(f"FAIL: {page}:{number}: exit code {status}")
    print("\nPASS")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
