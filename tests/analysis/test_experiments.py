# SPDX-License-Identifier: Apache-2.0
"""The experiments behind the paper's claims E7 and E17: shares of read faults, a curve that bends late, blocks alone."""

import json
import sqlite3
import unittest

from commands import FolderTest, call
from paper_sweep import paper_points
from synthetic import NONE, PCA, write_lines
from synthetic_profile import write_profile

from analysis.euromlsys25 import blocks, experiments

BLOCK = 2 << 20


def with_pca(path):
    """Makes the run of a synthetic profile one with PCA, and its layers those of Whisper's encoder."""
    connection = sqlite3.connect(path)
    (text,) = connection.execute("SELECT result FROM run").fetchone()
    connection.execute("UPDATE run SET result = ?", (json.dumps({**json.loads(text), "layout": PCA}),))
    connection.execute("UPDATE layers SET path = replace(path, 'net:Net', 'Encoder')")
    connection.commit()
    connection.close()
    return path


def lines_with(text, *words):
    return [line.split() for line in text.splitlines() if all(word in line for word in words)]


class ExperimentsTest(FolderTest):
    def test_shares_by_iterations_and_the_bend_from_later_factors(self):
        results = write_lines(paper_points(), self.path("results.jsonl"))
        status, out, err = call(experiments.main, results)
        self.assertEqual((status, err), (0, ""))
        # Without faults at 1; then a share of 0.2 + 0.03 x the factor.
        (bert,) = lines_with(out, "settled", "BERT")
        self.assertEqual((bert[2], bert[-2], bert[-1]), ("23.7", "50.0", "1.00"))
        self.assertEqual(len(lines_with(out, "grow", "6 of 6")), 4)
        bends = lines_with(out[out.index("Whisper's slowdown") :], "lrm")
        self.assertEqual([row[1] for row in bends], ["1", "1.25", "1.5", "2", "3", "4", "5"])
        self.assertEqual({row[3] for row in bends[:-1]}, {"6"})
        self.assertTrue(all(float(row[2]) > 5 for row in bends), bends)

    def test_profiles_give_pages_and_the_encoder_s_waits(self):
        results = write_lines(paper_points(), self.path("results.jsonl"))
        with_pca(write_profile(self.path("any.profile"), program="whisper"))
        status, out, err = call(experiments.main, results, "--profiles", self.folder)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(lines_with(out, "all", "Whisper")[-1][2], "50.0")
        (waits,) = lines_with(out[out.index("Waits of") :], "lrm")
        self.assertEqual(waits, ["lrm", "2", "22", "0", "0.0"])

    def test_what_is_refused(self):
        without = [point for point in paper_points() if point.layout == NONE]
        results = write_lines(without, self.path("without.jsonl"))
        self.assert_refused(experiments.main, results, says="no results of the paper's models with PCA")
        results = write_lines(paper_points(), self.path("results.jsonl"))
        self.assert_refused(experiments.main, results, "--profiles", self.path("none"), says="no profiles in")
        write_profile(self.path("a.profile"))
        self.assert_refused(experiments.main, results, "--profiles", self.folder, says="layout none")


def recording(*kernels, iterations=1):
    """A dump: each kernel is a list of (block, mode); one object of 16 blocks that begins with a block."""
    records = [{"t": "header", "quantum_bytes": 4096}, {"t": "object_alloc", "id": 1, "va": 64 * BLOCK}]
    for _ in range(iterations):
        records.append({"t": "range", "kind": "iteration_begin"})
        for touched in kernels:
            extents = [[block * 512, 512, mode] for block, mode in touched]
            records.append({"t": "kernel", "name": "k", "accesses": [[1, [extent]] for extent in extents]})
        records.append({"t": "range", "kind": "iteration_end"})
    return [json.dumps(record) for record in records]


class BlocksTest(FolderTest):
    def faults(self, order, capacity, *kernels, iterations=1):
        return blocks.faults_of(blocks.Recording(recording(*kernels, iterations=iterations)), capacity, order)

    def test_what_was_used_last_stays_only_by_last_touch(self):
        kernels = [[(0, "w")], [(1, "w")], [(0, "r")], [(2, "w")], [(0, "r")]]
        self.assertEqual(self.faults("lrm", 2, *kernels)[0], (0, 512, 3 * 512))
        self.assertEqual(self.faults("lru", 2, *kernels)[0], (0, 0, 3 * 512))

    def test_sums_in_place_are_read_first_once_they_have_contents(self):
        (first, second, *_) = self.faults("lrm", 1, [(0, "rw")], [(1, "w")])
        self.assertEqual(first, (0, 0, 1024))
        self.assertEqual(second, (1, 512, 512))

    def test_a_short_recording_repeats_its_third_iteration(self):
        rows = self.faults("lru", 1, [(0, "w")], [(1, "r")], iterations=4)
        self.assertEqual([row[0] for row in rows], list(range(10)))

    def test_the_command_prints_both_orders(self):
        path = self.write("alexnet.jsonl", "\n".join(recording([(0, "w")], [(1, "r")])))
        status, out, err = call(blocks.main, path)
        self.assertEqual((status, err), (0, ""))
        for order in blocks.ORDERS:
            self.assertIn(f"pages, eviction {order}", out)
        self.assertEqual(lines_with(out, "all", "AlexNet")[0][2], "50.0")

    def test_what_the_layers_of_the_encoder_touch(self):
        lines = recording([(0, "w")])[:-1]
        for name, block in (("blocks.0:Block", 1), ("blocks.1:Block", 2)):
            ranges = [{"t": "range", "kind": "push", "name": one} for one in ("Encoder", name)]
            kernel = {"t": "kernel", "name": "k", "accesses": [[1, [[0, 512, "r"], [block * 512, 512, "w"]]]]}
            pops = [{"t": "range", "kind": "pop"}] * 2
            lines += [json.dumps(record) for record in (*ranges, kernel, *pops)]
        path = self.write("whisper.jsonl", "\n".join(lines))
        status, out, err = call(blocks.main, path)
        self.assertEqual((status, err), (0, ""))
        found = [line.split()[-2:] for line in out[out.index("What Whisper's encoder") :].splitlines()[2:]]
        self.assertEqual(found, [["6", "89.69"], ["4", "91.38"], ["2", "93.13"]])

    def test_other_programs_are_refused(self):
        self.assert_refused(blocks.main, self.write("dlrm.jsonl", ""), says="dlrm.jsonl: not a program of the paper")


if __name__ == "__main__":
    unittest.main()
