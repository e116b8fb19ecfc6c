# SPDX-License-Identifier: Apache-2.0
"""analysis/examples/python_policy.py runs as its first lines say."""

import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ExampleTest(unittest.TestCase):
    def test_it_runs_from_anywhere(self):
        script = os.path.join(ROOT, "analysis", "examples", "python_policy.py")
        done = subprocess.run([sys.executable, "-W", "error", script], cwd="/", capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("unknown evict policy 'lur'", done.stdout)
        self.assertEqual(done.stdout.count("same result: True"), 2)
        self.assertRegex(done.stdout, r"driver +1\.000 of the driver's time")


if __name__ == "__main__":
    unittest.main()
