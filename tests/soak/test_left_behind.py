# SPDX-License-Identifier: Apache-2.0
"""The table of README.md: each command, killed, on a full disk and without memory. UVMSIM_SOAK_CALLS sets how many
calls are made to fail."""

import os
import unittest

import commands
import left_behind

CALLS = int(os.environ.get("UVMSIM_SOAK_CALLS", "3"))


def case(command):
    class LeftBehind(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.attack = left_behind.Attack(command)

        @classmethod
        def tearDownClass(cls):
            cls.attack.close()

    for fault in left_behind.FAULTS:

        def test(self, fault=fault):
            self.assertGreater(self.attack.calls[fault], 0)
            for position in self.attack.positions(fault, CALLS):
                with self.subTest(position=position):
                    self.attack.try_fault(fault, position)

        setattr(LeftBehind, f"test_{fault}", test)
    LeftBehind.__qualname__ = LeftBehind.__name__ = "LeftBehind_" + command.name.replace(" ", "_").replace("--", "")
    return LeftBehind


for one in commands.ALL:
    created = case(one)
    globals()[created.__name__] = created
del created

if __name__ == "__main__":
    unittest.main()
