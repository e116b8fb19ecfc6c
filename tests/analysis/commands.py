# SPDX-License-Identifier: Apache-2.0
"""Makes the package importable; runs its commands as a user would, within the test's process."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)


def call(main, *arguments):
    """Returns (exit status, standard output, standard error) of a command's `main`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
    return status, out.getvalue(), err.getvalue()


class FolderTest(unittest.TestCase):
    """A test with a folder of its own, and a check of how commands refuse bad input."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return f"{self.folder}/{name}"

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def assert_refused(self, main, *arguments, says):
        """Expects exit status 2, no output, and one line on standard error that contains `says`."""
        status, out, err = call(main, *arguments)
        self.assertEqual((status, out), (2, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn("error: ", err)
        self.assertIn(says, err)
