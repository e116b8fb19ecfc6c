# SPDX-License-Identifier: Apache-2.0
"""Runs the command in a folder of its own, and measures its memory and time."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

UVMSIM = os.environ.get("UVMSIM_COMMAND", "uvmsim")
SYSTEM = ("--system", "h200-sxm-pcie5")
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Done:
    """The result of a command: exit status, both outputs, its peak memory, wall-clock seconds."""

    def __init__(self, code, out, err, peak_bytes, seconds):
        self.code, self.out, self.err = code, out, err
        self.peak_bytes, self.seconds = peak_bytes, seconds


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="uvmsim_attack_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        return name

    def trace(self, name, *records, quantum_bytes=4096):
        """Returns JSON lines of these records after a header."""
        lines = [{"t": "header", "major": 1, "quantum_bytes": quantum_bytes}, *records]
        return self.write(name, "".join(json.dumps(line) + "\n" for line in lines))

    def start(self, *arguments):
        return subprocess.Popen(
            [UVMSIM, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )

    def run_measured(self, *arguments):
        out, err = open(self.folder / ".out", "w+b"), open(self.folder / ".err", "w+b")
        with out, err:
            begin = time.monotonic()
            process = subprocess.Popen(
                [UVMSIM, *map(str, arguments)], cwd=self.folder, stdout=out, stderr=err, stdin=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - begin
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "surrogateescape"))
        for name in (".out", ".err"):
            os.remove(self.folder / name)
        return Done(process.returncode, *texts, usage.ru_maxrss * 1024, seconds)

    def run_ok(self, *arguments):
        done = self.run_measured(*arguments)
        self.assertEqual(done.code, 0, (arguments, done.err[-500:]))
        return done

    def assert_one_line(self, done, *says):
        """Expects an error of the input: exit code 2, and a last line of standard error that names it."""
        self.assertEqual(done.code, 2, done.err[-500:])
        last = done.err.splitlines()[-1]
        self.assertIn("error:", last)
        for text in says:
            self.assertIn(text, last)

    def small_trace(self, name="a.uvmt"):
        self.run_ok("trace", "generate", "sequential", "--bytes", "8MiB", "-o", name)
        return name
