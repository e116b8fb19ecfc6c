# SPDX-License-Identifier: Apache-2.0
"""Checks the files that a command leaves behind when one of its system calls fails (the promises of README.md), at
chosen calls.

A fault is one of fault.cpp: the disk is full from the N-th change of a file on, the process is killed at it, or the
N-th allocation fails.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile

import commands

FAULT_LIBRARY = os.environ["UVMSIM_FAULT_LIBRARY"]
FAULTS = ("disk", "kill", "half", "memory")
SECONDS = 120
TIMES = re.compile(rb' time="[0-9.]*"')  # times in JUnit reports, which differ between machines


class Broken(AssertionError):
    """A promise of README.md that does not hold."""


def files_of(folder, outputs):
    """Returns the content of the existing outputs by name, without temporary files and files of failed points."""
    found = {}
    for output in outputs:
        path = folder / output
        for file in sorted(path.rglob("*")) if output.endswith("/") else [path]:
            if file.is_file() and ".tmp-" not in file.name and ".lock" not in file.name and ".error" not in file.name:
                found[str(file.relative_to(folder))] = TIMES.sub(b"", file.read_bytes())
    return found


def is_result(name):
    """Returns whether a file is a point of a sweep or a league; other outputs may name points that failed."""
    return "/points/" in name


def temporary_files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if ".tmp-" in path.name)


class Attack:
    """One command, its inputs, its outputs when nothing fails, and how many calls it then makes."""

    def __init__(self, command):
        self.command = command
        self.whole = tempfile.TemporaryDirectory(prefix="uvmsim_soak_")
        self.inputs = pathlib.Path(self.whole.name) / "inputs"
        self.inputs.mkdir()
        commands.make_inputs(self.inputs)
        folder = self.fresh()
        counts = self.inputs.parent / "counts"
        done = self.run(folder, {"UVMSIM_FAULT_COUNTS": str(counts)})
        if done.returncode != 0:
            raise Broken(f"{command.name}: exit code {done.returncode} without a fault: {done.stderr}")
        changes, allocations = map(int, counts.read_text().split())
        self.calls = {"disk": changes, "kill": changes, "half": changes, "memory": allocations}
        self.reference = files_of(folder, command.outputs)

    def close(self):
        self.whole.cleanup()

    def fresh(self):
        """Restores the inputs and the previous outputs, always in the same folder, because plans contain its name."""
        folder = self.inputs.parent / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.inputs, folder)
        for output in self.command.outputs:
            if self.command.before is not None and not output.endswith("/"):
                (folder / output).write_text(self.command.before)
        return folder

    def run(self, folder, environment):
        return subprocess.run(
            [self.command.program, *self.command.arguments], cwd=folder, capture_output=True, text=True, timeout=SECONDS,
            env={**os.environ, "LD_PRELOAD": FAULT_LIBRARY, **environment},
        )  # fmt: skip

    def positions(self, fault, most):
        """Returns the calls to fail: all of them, or `most` that are spread over the run."""
        count = self.calls[fault]
        if count <= most:
            return range(1, count + 1)
        chosen = random.Random(f"{self.command.name} {fault}")
        return sorted({1, count} | {chosen.randint(1, count) for _ in range(most - 2)})

    def try_fault(self, fault, position):
        """Raises Broken if a promise does not hold."""
        where = f"{self.command.name}, {fault}:{position} of {self.calls[fault]}"
        folder = self.fresh()
        before = files_of(folder, self.command.outputs)
        done = self.run(folder, {"UVMSIM_FAULT": f"{fault}:{position}"})
        after = files_of(folder, self.command.outputs)
        reported = self.command.reports and done.returncode != 0
        for name, content in after.items():
            if reported and not is_result(name):
                continue
            if content not in (self.reference.get(name), before.get(name)):
                raise Broken(f"{where}: {name} is neither what it was nor whole")
        for name in before:
            if name not in after:
                raise Broken(f"{where}: {name} is gone")
        if fault in ("kill", "half"):
            self.expect_killed(where, done)
        else:
            self.expect_said(where, fault, done, after, folder)
        if self.command.again:
            self.expect_again(where, folder)

    def expect_killed(self, where, done):
        # 0: the run made fewer calls than last time, because threads take turns
        if done.returncode not in (-signal.SIGKILL, 0):
            raise Broken(f"{where}: exit code {done.returncode}: {done.stderr}")

    def expect_said(self, where, fault, done, after, folder):
        if temporary_files(folder):
            raise Broken(f"{where}: temporary files stay: {temporary_files(folder)}")
        if done.returncode == 0:
            if after != self.reference:
                raise Broken(f"{where}: exit code 0 without all of its outputs")
            return
        allowed = (1, 2) if fault == "disk" else (1, 2, 3)
        if done.returncode not in allowed:
            raise Broken(f"{where}: exit code {done.returncode}, allowed: {allowed}: {done.stderr}")
        last = (done.stderr.strip().splitlines() or [""])[-1]
        if done.returncode != 1 and (": error: " not in last or "bug" in last):
            raise Broken(f"{where}: exit code {done.returncode}, but the last line is: {last}")

    def expect_again(self, where, folder):
        """Runs the same command without a fault, in the folder as the failed command left it."""
        done = self.run(folder, {})
        if done.returncode != 0:
            raise Broken(f"{where}: the next run fails, exit code {done.returncode}: {done.stderr}")
        for name, content in files_of(folder, self.command.outputs).items():
            if name in self.reference and content != self.reference[name]:
                raise Broken(f"{where}: the next run wrote another {name}")
