# SPDX-License-Identifier: Apache-2.0
"""The roofline against a recording: launches matched by name, errors by class."""

import sqlite3
import unittest

from commands import FolderTest, call
from synthetic_profile import write_profile

from analysis import roofline


class RooflineTest(FolderTest):
    def profile(self, name, factor=1.0, renamed=None):
        path = write_profile(self.path(name))
        connection = sqlite3.connect(path)
        connection.execute("UPDATE operations SET compute_ns = compute_ns * ?", (factor,))
        if renamed:
            connection.execute("UPDATE names SET name = ? WHERE name = ?", (renamed[1], renamed[0]))
        connection.commit()
        connection.close()
        return path

    def test_classes_by_name(self):
        self.assertEqual(roofline.class_of("sm80_xmma_fprop_implicit_gemm_f32f32"), "convolution")
        self.assertEqual(roofline.class_of("ampere_sgemm_128x64_nn"), "matrix product")
        self.assertEqual(roofline.class_of("_ZN2at6native29vectorized_elementwise_kernelILi4E"), "element by element")
        self.assertEqual(roofline.class_of("radix_sort"), "other")

    def test_sums_and_median_errors(self):
        scaled, recorded, unscaled = self.profile("a", 1.0), self.profile("b", 1.25), self.profile("c", 0.5)
        rows, alone = roofline.joined(scaled, recorded, unscaled)
        self.assertEqual((len(rows), alone), (3, 0))  # of the second of two iterations
        table = roofline.table_of(rows).set_index("class")
        self.assertEqual(table.loc["all", "scaled / recorded"], "0.800")
        self.assertEqual(table.loc["all", "median error"], "20.0%")
        self.assertEqual(table.loc["all", "unscaled / recorded"], "0.400")
        self.assertEqual(table.loc["all", "recorded ms"], "7.5")

    def test_launches_of_one_recording_only_are_left_out(self):
        scaled, unscaled = self.profile("a"), self.profile("c")
        other = self.profile("b", renamed=("add", "another"))
        rows, alone = roofline.joined(scaled, other, unscaled)
        self.assertEqual((len(rows), alone), (2, 2))

    def test_the_command(self):
        paths = self.profile("a"), self.profile("b"), self.profile("c")
        status, out, err = call(roofline.main, *paths)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("launches without a partner: 0", out)
        other = self.profile("d", renamed=("add", "another"))
        self.assert_refused(roofline.main, paths[0], paths[1], other, says="allowed: the same trace on two systems")


if __name__ == "__main__":
    unittest.main()
