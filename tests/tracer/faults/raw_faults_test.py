#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reader of logs of raw faults and the scripts that use it find the constants of a made-up GPU."""
import contextlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(TOP, *folder) for folder in (("tracer", "faults"), ("tracer", "ground_truth"), ("tests", "ground_truth"))]
import compare_page_orders  # noqa: E402
import draw_window  # noqa: E402
import fault_constants  # noqa: E402
import raw_faults  # noqa: E402
import raw_lines  # noqa: E402

HEADER = {"t": "header", "version": 1, "pass": "faults", "pid": 7, "gpu": "G", "driver": "580", "sm_count": 2}
END = {"t": "end", "dropped": 0}
BASE = 0x7F0000000000


def line(head):
    return json.dumps(head).encode() + b"\n"


def fault(gpu_ns, batch, address, client=0, access=2, client_type=1):
    return {"gpu_ns": gpu_ns, "cpu_ns": gpu_ns + 5, "address": address, "batch": batch, "gpu": 1, "gpc": client % 2,
            "client": client, "access": access, "fault_type": 2, "client_type": client_type}


def replay(gpu_ns, batch):
    return {"gpu_ns": gpu_ns, "cpu_ns": gpu_ns, "batch": batch, "gpu": 1}


def section(name="process 7", faults=(), replays=(), migrations=(), blocks=(), dropped=0, **more):
    tables = {"faults": faults, "replays": replays, "migrations": migrations, "blocks": blocks}
    head = {"t": "events", "name": name, **more, **{table: len(rows) for table, rows in tables.items()}, "dropped": dropped}
    out = line(head)
    for table, columns in raw_faults.TABLES.items():
        for column, kind in columns:
            out += b"".join(struct.pack("<" + kind, row[column]) for row in tables[table])
    return out


def experiment(name, **more):
    keys = {"pattern": "walk", "place": "new", "write": True, "grid": 1, "threads": 32, "access_bytes": 4, "steps": 1,
            "pitch": 0, "warp_pitch": 0, "address": BASE, "bytes": 2 << 20}
    return section(name, **{**keys, **more})


class Reader(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "log")

    def write(self, data):
        with open(self.path, "wb") as file:
            file.write(data)
        return self.path

    def read(self, data):
        return raw_faults.read(self.write(data))

    def printed(self, module, data, *options):
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["program", self.write(data), *options]), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(module.main(), 0)
        return out.getvalue()

    def test_columns_come_back(self):
        faults = [fault(1, 2, BASE), fault(3, 2, BASE + 4096, 54)]
        copies = [{"cpu_begin_ns": 1, "cpu_end_ns": 2, "gpu_begin_ns": 3, "gpu_end_ns": 4, "address": BASE, "bytes": 65536,
                   "source": 0, "destination": 1, "cause": 3}]
        blocks = [{"begin_ns": 9, "end_ns": 10, "sm": 131}]
        data = line(HEADER) + section(faults=faults, replays=[replay(8, 2)], migrations=copies, blocks=blocks, dropped=3) + line(END)
        for compressed in (False, True):
            if compressed and shutil.which("zstd") is None:
                continue
            if compressed:
                data = subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout
            process, = self.read(data)
            self.assertTrue(process.complete)
            self.assertEqual(process.dropped, 3)
            part, = process.sections
            self.assertEqual(raw_faults.rows_of(part.faults), faults)
            self.assertEqual(raw_faults.rows_of(part.migrations), copies)
            self.assertEqual(raw_faults.rows_of(part.blocks), blocks)
            self.assertEqual(raw_faults.replay_times(part), {(1, 2): 8})
            batch, = raw_faults.batches_of(part)
            self.assertEqual((len(batch), len(batch.pages), len(batch.sms)), (2, 2, 2))

    def test_a_log_that_stops_keeps_its_whole_sections(self):
        one = line(HEADER) + section(faults=[fault(1, 1, BASE)])
        whole = one + section(replays=[replay(1, 1)] * 3) + line(END)
        for size in range(len(line(HEADER)), len(whole)):
            process, = self.read(whole[:size])
            self.assertFalse(process.complete)
            self.assertGreaterEqual(len(process.sections), size >= len(one))
        self.assertEqual([p.complete for p in self.read(one + whole)], [False, True])

    def test_refuses_what_is_no_log(self):
        wrong = [b"", b"hello\n", b"[]\n", b"{}\n", section(), line({**HEADER, "pass": "timing"}), line({**HEADER, "version": 2}),
                 line(HEADER) + line({"t": "launch"}), line(HEADER) + line(END) + line(END),
                 line(HEADER) + line({"t": "events", "faults": 0}), b"\x28\xb5\x2f\xfd damaged",
                 line(HEADER) + b"[" * 100000 + b"\n"]
        for rows in (-1, 1.5, "7", True, None, 1 << 70):
            wrong.append(line(HEADER) + line({"t": "events", "name": "x", "dropped": 0, "faults": rows, "replays": 0,
                                              "migrations": 0, "blocks": 0}))
        for data in wrong:
            with self.assertRaisesRegex(raw_faults.LogError, "^[^\n]*$", msg=data[:80]):
                self.read(data)
        with self.assertRaises(raw_faults.LogError):
            raw_faults.read(os.path.join(self.folder.name, "nothing"))

    @unittest.skipIf(shutil.which("zstd") is None, "no zstd")
    def test_a_small_file_does_not_become_a_large_one(self):
        head = {"t": "events", "name": "x", "faults": 20000000, "replays": 0, "migrations": 0, "blocks": 0, "dropped": 0}
        packed = subprocess.run(["zstd", "-qc1"], input=line(HEADER) + line(head) + bytes(200 << 20), capture_output=True,
                                check=True).stdout
        with self.assertRaisesRegex(raw_faults.LogError, "500 times"):
            self.read(packed)

    def test_a_wrong_count_is_a_log_that_stops(self):
        head = {"t": "events", "name": "x", "faults": 1 << 40, "replays": 0, "migrations": 0, "blocks": 0, "dropped": 0}
        process, = self.read(line(HEADER) + line(head) + bytes(100))
        self.assertEqual(process.sections, [])

    def test_constants_come_out_as_they_went_in(self):
        # A loop: the first window has 13 stores of an SM, then a replay. From 300 ns before the replay on, a fault
        # arrives every 20 ns: 100 in this batch, the rest in the next one.
        first = [fault(1000 + 32 * i, 1, BASE + 4096 * i) for i in range(13)]
        begin = 60000 - 300
        late = [fault(begin + 20 * i, 2 if i < 100 else 3, BASE + (1 << 20) + 4096 * i, i % 50) for i in range(130)]
        loop = experiment("loop16_g1_b256_wr_new", pattern="loop", threads=256, access_bytes=16, faults=first + late,
                          replays=[replay(60000, 1), replay(90000, 2)], blocks=[{"begin_ns": 600, "end_ns": 99000, "sm": 5}])
        # Each block has a page of its own: block 0 runs on SM 5, which is client 0, block 1 on SM 8, which is client 3
        # of GPC 1.
        walk = experiment("blocks_own_page_2_wr_new", grid=2, warp_pitch=4096,
                          faults=[fault(10, 1, BASE), fault(30, 1, BASE + 4096, 3)],
                          blocks=[{"begin_ns": 1, "end_ns": 2, "sm": 5}, {"begin_ns": 1, "end_ns": 2, "sm": 8}])
        text = self.printed(fault_constants, line(HEADER) + loop + walk + line(END), "--topology")
        for words in ("fault unit: time per raw fault                     20.0 ns (20.0 to 20.0), 1 bursts",
                      "raw faults of a batch that begins empty      100",
                      "replay to the reading of PUT                       1690 ns", "replay to the first raw fault                      -300",
                      "begin of a lone block to its first raw fault        400 ns",
                      "2 SMs, 2 MMU clients, 2 GPCs of 1, 1 SMs; 2 of 2 faults agree", "  GPC 1: 8:3"):
            self.assertIn(words, text)
        self.assertIn("13 in 1 of", text)

    def test_lines_for_validate(self):
        loop = experiment("loop16_g1_b256_wr_new", pattern="loop", threads=256, access_bytes=16, place="host",
                          faults=[fault(1000, 1, BASE + 8192), fault(1020, 1, BASE + 4096, 1), fault(5000, 2, BASE + 65536)],
                          replays=[replay(4000, 1), replay(9000, 2)], blocks=[{"begin_ns": 500, "end_ns": 9500, "sm": 0}],
                          migrations=[{"cpu_begin_ns": 0, "cpu_end_ns": 0, "gpu_begin_ns": 2000, "gpu_end_ns": 3000,
                                       "address": BASE, "bytes": 65536, "source": 0, "destination": 1, "cause": 2}])
        lanes = experiment("lanes_own_page_2_rd_new", pattern="lanes", write=False, threads=2, pitch=4096,
                           faults=[fault(1, 1, BASE, access=1)], replays=[replay(5, 1)],
                           blocks=[{"begin_ns": 0, "end_ns": 9, "sm": 0}])
        lost = experiment("loop16_g2_b256_wr_new", pattern="loop", faults=[fault(1, 1, BASE)], dropped=1)
        walk = experiment("warps", faults=[fault(1, 1, BASE)])
        text = self.printed(raw_lines, line(HEADER) + loop + lanes + lost + walk + line(END))
        first, second = map(json.loads, text.splitlines())
        self.assertEqual(first["mode"], "stream_wr")
        self.assertEqual(first["host_populated"], [[0, 2 << 20]])
        self.assertEqual(first["raw"], {"raw_faults": 3, "raw_faults_per_batch": 1, "pages_per_batch": 1, "sms_per_batch": 1,
                                        "raising_ns_per_batch": 10, "page_order": [[2, 1], [16]]})
        self.assertEqual(first["events"], [["kernel", 0, 9000, 0, 0, 0], ["gpu_fault", 500, 3500, 4096, 2, 0],
                                           ["htod", 1500, 2500, 0, 65536, 2], ["gpu_fault", 4500, 8500, 65536, 1, 0]])
        self.assertEqual(second["mode"], "parallel2")
        self.assertEqual(second["touches"], [[0, "r"], [1, "r"]])

    def test_the_order_of_pages_is_that_of_their_first_raw_faults(self):
        # By the GPU's clock, not by the rows; a page counts once, and pages of other memory do not.
        faults = [fault(1020, 1, BASE + 4096), fault(1000, 1, BASE + 3 * 4096 + 8), fault(1040, 1, BASE + 3 * 4096, 1),
                  fault(1060, 1, BASE - 4096), fault(1080, 1, BASE + (2 << 20)), fault(5040, 2, BASE), fault(5000, 2, BASE + 4096)]
        loop = experiment("loop16_g1_b256_wr_new", pattern="loop", threads=256, access_bytes=16, faults=faults,
                          blocks=[{"begin_ns": 500, "end_ns": 9500, "sm": 0}])
        raw = json.loads(self.printed(raw_lines, line(HEADER) + loop + line(END)))["raw"]
        self.assertEqual(raw["page_order"], [[3, 1], [0]])
        self.assertEqual(raw["raising_ns_per_batch"], (80 + 40) // 2)

    def test_orders_of_two_recordings_are_compared_as_validate_does(self):
        # The same numbers as in tests/validate/page_order_test.cpp: two batches in the other order, two neighbours exchanged.
        one, other = list(range(10)), list(range(10, 20))
        self.assertEqual(compare_page_orders.compared([one, other], [other, one]), (20, 1 - 6 * 2000 / (20 * 399), 1))
        exchanged = compare_page_orders.compared([[90, 0, 1, 2, 3], [4, 5, 6, 7, 91]], [[0, 2], [92, 1, 3, 4, 5, 6, 7]])
        self.assertEqual(exchanged, (8, 1 - 12 / (8 * 63), None))
        self.assertIsNone(compare_page_orders.compared([one[:8]], [one[1:9]]))

    def test_calls_get_what_their_batches_held(self):
        call = {"name": "relu", "inputs_on": "gpu", "outputs_on": "host", "tensors": [], "events": [1]}
        calls = os.path.join(self.folder.name, "calls.jsonl")
        with open(calls, "w", encoding="utf-8") as file:
            file.write(json.dumps(call) + "\n" + json.dumps({**call, "outputs_on": "nowhere"}) + "\n")
        log = line(HEADER) + section("relu|gpu|host", [fault(1, 1, BASE), fault(2, 1, BASE)]) + section("between") + line(END)
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["program", "--calls", calls, self.write(log)]), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(raw_lines.main(), 0)
        first, second = map(json.loads, out.getvalue().splitlines())
        self.assertEqual(first["raw"], {"raw_faults": 2, "raw_faults_per_batch": 2, "pages_per_batch": 1, "sms_per_batch": 1,
                                        "raising_ns_per_batch": 1})
        self.assertEqual(list(first)[-1], "events")
        self.assertNotIn("raw", second)

    def test_a_window_is_drawn(self):
        faults = [fault(1000 * number + 20 * i, number, BASE + 4096 * i, i) for number in (1, 2, 3) for i in range(5)]
        data = line(HEADER) + section("x", faults, [replay(1500, 1), replay(2500, 2)]) + line(END)
        drawn = self.printed(draw_window, data, "x", "1")
        self.assertEqual(xml.etree.ElementTree.fromstring(drawn).tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn("5 raw faults of 5 SMs on 5 pages", drawn)
        for name, number in (("y", "1"), ("x", "0"), ("x", "2")):
            with self.assertRaises(raw_faults.LogError):
                self.printed(draw_window, data, name, number)

    def test_another_log_is_one_line(self):
        path = self.write(line(HEADER) + section(faults=[fault(1, 1, BASE)]) + line(END))
        for script in ("fault_constants.py", "raw_lines.py"):
            run = subprocess.run([sys.executable, os.path.join(TOP, "tracer", "ground_truth", script), path], capture_output=True,
                                 text=True, check=False)
            self.assertEqual(run.returncode, 2)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
            self.assertIn("is this a log of uvm_experiments --raw-faults?", run.stderr)


if __name__ == "__main__":
    unittest.main()
