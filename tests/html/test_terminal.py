# SPDX-License-Identifier: Apache-2.0
"""Tests of the output in a terminal: lines fit it, and have colours unless these are refused; files stay unchanged."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import termios
import unittest

UVMSIM = os.environ["UVMSIM_COMMAND"]
STYLE = re.compile(r"\x1b\[[0-9;]*m")


class TerminalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="uvmsim_terminal_")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.piped("trace", "generate", "zigzag", "--bytes", "8MiB", "--repeats", "2", "-o", "a.uvmt")
        cls.run_arguments = ("run", "a.uvmt", "--system", "h200-sxm-pcie5", "--osf", "1,2")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def piped(cls, *arguments, **environment):
        return subprocess.run([UVMSIM, *arguments], cwd=cls.folder, capture_output=True, text=True, env={**os.environ, **environment})

    def shown(self, *arguments, columns=80, **environment):
        """Returns both outputs as a terminal with this number of columns receives them."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm", **environment}
        for name in ("COLUMNS", "NO_COLOR"):
            if name not in environment or environment[name] is None:
                environment.pop(name, None)
        process = subprocess.Popen([UVMSIM, *arguments], cwd=self.folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        text = b""
        while True:
            try:
                more = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            text += more
        process.wait()
        os.close(ours)
        return text.decode().replace("\r\n", "\n")

    def widest(self, text):
        lines = STYLE.sub("", text.replace("\x1b[K", "")).replace("\r", "\n").split("\n")
        return max(map(len, lines))

    def test_tables_fit_the_terminal(self):
        wide = self.piped(*self.run_arguments).stdout
        self.assertGreater(self.widest(wide), 100)
        for columns in (60, 80):
            with self.subTest(columns):
                text = self.shown(*self.run_arguments, columns=columns)
                table = text[text.index("OSF  ") :]
                self.assertLessEqual(self.widest(table), columns)
        text = self.shown(*self.run_arguments, COLUMNS="70")
        self.assertLessEqual(self.widest(text[text.index("OSF  ") :]), 70)

    def test_colours_are_for_terminals_that_want_them(self):
        self.assertRegex(self.shown(*self.run_arguments), STYLE)
        self.assertNotRegex(self.shown(*self.run_arguments, NO_COLOR="1"), STYLE)
        self.assertNotRegex(self.shown(*self.run_arguments, TERM="dumb"), STYLE)
        self.assertRegex(self.shown("run", "none"), "\x1b\\[1;31merror:")
        plain = STYLE.sub("", self.shown(*self.run_arguments, columns=200))
        self.assertEqual(plain[plain.index("a.uvmt on") :], self.piped(*self.run_arguments).stdout)

    def test_files_hold_the_same_whatever_the_environment_says(self):
        usual = self.piped(*self.run_arguments)
        other = self.piped(*self.run_arguments, COLUMNS="40", TERM="xterm-256color", CLICOLOR_FORCE="1")
        self.assertEqual((other.stdout, other.stderr), (usual.stdout, usual.stderr))
        self.assertNotIn("\x1b", usual.stdout)
        self.assertEqual(self.piped("run", "none").stderr[:15], "uvmsim: error: ")


if __name__ == "__main__":
    unittest.main()
