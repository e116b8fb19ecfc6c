# SPDX-License-Identifier: Apache-2.0
"""Runs the shell and Python blocks of pages, and compares what they print with what the page shows.

    python3 docs/check_examples.py [--update] BIN PAGE...

BIN is the folder of the built commands; the Python module lies in ../python beside it. Each page runs by itself, from top
to bottom in one shell that ends at the first error, in a scratch folder with links to what lies in the repository, so
that relative paths work and nothing is written there. PYTHON is the interpreter, default /usr/bin/python3.

In a page:
    ```sh or ```python     is run
    ```text after it       is what it prints on standard output, all of it
    <!-- not run: why -->, <!-- not run here: where -->    before a block that is not run
    <!-- exit code N -->   before a block whose last command fails so
    <!-- picture: FILE --> before an image: the blocks made FILE, and the image is a copy of it
--update writes what was printed into the page, and copies the pictures.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SKIPPED = {".git", ".cache", "build", "results"}
FENCE = re.compile(r"^```(\w*)\s*$")
COMMENT = re.compile(r"^<!-- (.*) -->\s*$")
IMAGE = re.compile(r"^!\[[^\]]*\]\(([^)]+)\)")


class Block:
    def __init__(self, language, line, comment):
        self.language, self.line, self.comment = language, line, comment
        self.text, self.shown, self.shown_at = "", None, None  # the output that the page shows, and its place

    def is_run(self):
        return not self.comment.startswith("not run")

    def exit_code(self):
        found = re.match(r"exit code (\d+)$", self.comment)
        return int(found[1]) if found else 0


def read_page(path):
    """Blocks that can run, and pictures: (file that the blocks make, image on the page)."""
    lines = path.read_text().splitlines()
    blocks, pictures, comment, above, at = [], [], "", None, 0
    while at < len(lines):
        line, fence, found = lines[at], FENCE.match(lines[at]), COMMENT.match(lines[at])
        if found:
            comment = found[1]
        elif fence:
            end = next((i for i in range(at + 1, len(lines)) if lines[i].rstrip() == "```"), None)
            if end is None:
                sys.exit(f"{path.name}:{at + 1}: error: a block without an end")
            text = "".join(one + "\n" for one in lines[at + 1 : end])
            if fence[1] in ("sh", "python"):
                above = Block(fence[1], at + 1, comment)
                above.text = text
                blocks.append(above)
            else:
                if fence[1] == "text" and above is not None:
                    above.shown, above.shown_at = text, (at + 1, end)
                above = None
            comment, at = "", end
        elif line.strip():
            image = IMAGE.match(line)
            if image and comment.startswith("picture: "):
                pictures.append((comment[len("picture: ") :], path.parent / image[1]))
            comment, above = "", None
        at += 1
    return lines, blocks, pictures


def script_of(blocks, logs):
    lines = ["set -euo pipefail"]
    for number, block in enumerate(blocks):
        lines.append(f"exec >{logs}/{number}.out 2>{logs}/{number}.err")
        lines.append(f"echo {number} >{logs}/at")
        if block.language == "python":
            (logs / f"{number}.py").write_text(block.text)
            lines.append(f"python3 {logs}/{number}.py")
        elif block.exit_code():
            (logs / f"{number}.sh").write_text(block.text)
            lines.append(f"code=0; bash -euo pipefail {logs}/{number}.sh || code=$?")
            lines.append(f"[[ $code == {block.exit_code()} ]] || {{ echo exit code $code >&2; exit 1; }}")
        else:
            lines.append(block.text)
    return "\n".join(lines) + "\n"


def scratch_folder(folder):
    for entry in REPOSITORY.iterdir():
        if entry.name not in SKIPPED:
            (folder / entry.name).symlink_to(entry)
    (folder / "results").mkdir()


def environment(scratch, commands, bin_folder):
    commands.mkdir()
    (commands / "python3").symlink_to(os.environ.get("PYTHON") or "/usr/bin/python3")
    path = f"{bin_folder}:{commands}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(scratch), "PYTHONPATH": str(bin_folder.parent / "python"),
            "MPLCONFIGDIR": str(commands), "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip


def png_size(path):
    head = path.read_bytes()[:24]
    if head[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{path.name} is no PNG")
    return struct.unpack(">II", head[16:24])


def check_pictures(path, pictures, scratch, update):
    problems = []
    for made, shown in pictures:
        made = scratch / made
        if not made.exists():
            problems.append(f"{path.name}: no block made {made.name}")
        elif update:
            shutil.copyfile(made, shown)
        elif not shown.exists():
            problems.append(f"{path.name}: {shown.name} is missing; --update makes it")
        # Other versions of the plotting library need a few pixels more or less.
        elif any(abs(a - b) > 0.1 * b for a, b in zip(png_size(made), png_size(shown))):
            problems.append(f"{path.name}: {shown.name} is not the picture that its blocks make; --update makes it anew")
    return problems


def check_page(path, bin_folder, update):
    lines, blocks, pictures = read_page(path)
    running = [block for block in blocks if block.is_run()]
    with tempfile.TemporaryDirectory(prefix="uvmsim_docs.") as top:
        scratch, logs = Path(top, "scratch"), Path(top, "logs")
        scratch.mkdir()
        logs.mkdir()
        scratch_folder(scratch)
        script = script_of(running, logs)
        started = time.monotonic()
        done = subprocess.run(["bash", "-c", script], cwd=scratch, stdin=subprocess.DEVNULL, check=False,
                              env=environment(scratch, Path(top, "commands"), bin_folder))  # fmt: skip
        seconds = time.monotonic() - started
        if done.returncode != 0:
            at = int((logs / "at").read_text())
            errors = (logs / f"{at}.err").read_text()
            return [f"{path.name}:{running[at].line}: exit code {done.returncode}\n{errors}"]
        problems = check_pictures(path, pictures, scratch, update)
        for number in reversed(range(len(running))):
            block = running[number]
            printed = (logs / f"{number}.out").read_text()
            if block.shown is None or block.shown == printed:
                continue
            if update:
                lines[block.shown_at[0] : block.shown_at[1]] = printed.splitlines()
            else:
                problems.append(f"{path.name}:{block.shown_at[0]}: the page shows another output than is printed; "
                                f"--update writes it:\n{printed}")  # fmt: skip
    if update:
        path.write_text("\n".join(lines) + "\n")
    print(f"{path.name}: {len(running)} of {len(blocks)} blocks ran, {seconds:.1f} s")
    for block in blocks:
        if not block.is_run():
            print(f"  line {block.line}: {block.comment}")
    return problems


def main():
    arguments = [one for one in sys.argv[1:] if one != "--update"]
    update = len(arguments) < len(sys.argv) - 1
    if len(arguments) < 2:
        sys.exit(__doc__)
    problems = []
    for page in arguments[1:]:
        problems += check_page(Path(page).resolve(), Path(arguments[0]).resolve(), update)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
