# SPDX-License-Identifier: Apache-2.0
"""Reads the timeline of a run as ui.perfetto.dev reads the Chrome trace event format, with code that shares nothing
with the
writer, and compares tracks, slices, counters and arguments with the results of the same run. If Perfetto's own trace
processor is
installed (`trace_processor_shell` or `trace_processor`), the test asks it the same questions."""

import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from fractions import Fraction

COMMAND = os.environ["UVMSIM_COMMAND"]
PHASES = {"X", "C", "M", "i"}
CAUSES = ("fault", "prefetch", "user", "evict", "counter")


def run_with_timeline(folder):
    """Returns (path of the timeline, results) of a small program on a GPU with memory for half of it, so that it
    evicts."""
    trace, timeline, result = (os.path.join(folder, name) for name in ("p.uvmt", "t.json.gz", "r.json"))
    generate = ["trace", "generate", "zipf", "--bytes", "48MiB", "--kernels", "6", "--write-percent", "40", "-o", trace]
    run = ["run", trace, "--system", "h200-sxm-pcie5", "--osf", "2", "--no-unlimited-run"]
    for arguments in (generate, [*run, "--timeline", timeline, "--json", result]):
        subprocess.run([COMMAND, *arguments], check=True, capture_output=True)
    with open(result, encoding="utf-8") as file:
        return timeline, json.load(file)


def nanoseconds(microseconds):
    """Converts exactly: the file's microseconds have three decimals."""
    value = Fraction(microseconds) * 1000
    assert value.denominator == 1, microseconds
    return int(value)


class Tracks:
    """The importer's view of the events: slices by track name, counters by process and name."""

    def __init__(self, events):
        processes = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
        threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
        self.slices, self.instants, self.counters = {}, {}, {}
        for one in events:
            assert one["ph"] in PHASES, one
            if one["ph"] == "M":
                continue
            where = processes[one["pid"]]
            if one["ph"] == "C":
                self.counters.setdefault((where, one["name"]), []).append((nanoseconds(one["ts"]), one["args"]))
                continue
            kind = self.slices if one["ph"] == "X" else self.instants
            kind.setdefault((where, threads[one["pid"], one["tid"]]), []).append(one)

    def of(self, process, thread):
        return self.slices.get((process, thread), [])


class TimelineFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path, cls.result = run_with_timeline(cls.folder.name)
        with gzip.open(cls.path, "rt", encoding="utf-8") as file:
            cls.file = json.load(file, parse_float=str)
        cls.tracks = Tracks(cls.file["traceEvents"])
        cls.counters = cls.result["counters"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def kernels(self):
        return [one for (_, thread), some in self.tracks.slices.items() if thread.startswith("stream") for one in some]

    def test_kernels_are_those_of_the_results(self):
        kernels = self.kernels()
        self.assertEqual(len(kernels), self.counters["kernels"])
        self.assertEqual(sum(nanoseconds(one["dur"]) for one in kernels), self.counters["kernel_ns"])
        for name, counter in (("fault_batches", ("fault_batches",)), ("htod_bytes", self.moved("htod"))):
            self.assertEqual(sum(one["args"][name] for one in kernels), self.sum_of(counter), name)

    def moved(self, direction):
        return [f"{direction}_{cause}_bytes" for cause in CAUSES if f"{direction}_{cause}_bytes" in self.counters]

    def sum_of(self, names):
        return sum(self.counters[name] for name in names)

    def test_transfers_are_those_of_the_results(self):
        for thread, direction in (("migration HtoD", "htod"), ("migration DtoH", "dtoh")):
            slices = self.tracks.of("GPU 0", thread)
            for cause in ("fault", "prefetch", "evict"):
                members = [one for one in slices if one["cat"] == cause]
                expected = self.counters.get(f"{direction}_{cause}_bytes", 0)
                self.assertEqual(sum(one["args"]["bytes"] for one in members), expected, (direction, cause))
                self.assertEqual(len(members), self.counters.get(f"{direction}_{cause}_transactions", 0), cause)
            self.assertGreater(len(slices), 0)
            self.assertEqual(sum(nanoseconds(one["dur"]) for one in slices), self.counters[f"{direction}_busy_ns"])

    def test_batches_and_evictions_are_those_of_the_results(self):
        batches = self.tracks.of("GPU 0", "fault batches")
        self.assertEqual(len(batches), self.counters["fault_batches"])
        for name in ("raw_faults", "faulting_pages"):
            self.assertEqual(sum(one["args"][name] for one in batches), self.counters[name], name)
        self.assertEqual(len(self.tracks.instants["GPU 0", "evictions"]), self.counters["evictions"])
        self.assertGreater(self.counters["evictions"], 0)

    def test_counters_are_of_the_same_events(self):
        self.assertEqual(self.total("raw faults per ms"), self.counters["raw_faults"])
        self.assertEqual(self.total("evictions per ms"), self.counters["evictions"])
        for times in self.tracks.counters.values():
            self.assertEqual([at for at, _ in times], sorted(at for at, _ in times))
        residency = [values for _, values in self.tracks.counters["GPU 0", "residency"]]
        self.assertEqual(max(one["chunk_bytes"] for one in residency), self.result["capacity_bytes"])
        self.assertTrue(all(0 < one["resident_bytes"] <= one["chunk_bytes"] for one in residency))

    def total(self, name):
        samples = self.tracks.counters["GPU 0", name]
        return sum(int(value) for _, values in samples for value in values.values())

    def test_slices_nest_and_lie_within_the_run(self):
        for track, slices in self.tracks.slices.items():
            open_until = []
            for begin, end in sorted(
                ((nanoseconds(one["ts"]), nanoseconds(one["ts"]) + nanoseconds(one["dur"])) for one in slices),
                key=lambda one: (one[0], -one[1]),
            ):
                while open_until and open_until[-1] <= begin:
                    open_until.pop()
                # Perfetto's importer drops slices that overlap without being nested.
                self.assertTrue(not open_until or end <= open_until[-1], track)
                open_until.append(end)
                self.assertGreaterEqual(begin, 0)
                self.assertLessEqual(end, self.result["total_ns"], track)

    def test_says_what_made_it(self):
        self.assertEqual(self.file["otherData"]["model_version"], self.result["model_version"])

    def test_the_trace_processor_reads_the_same(self):
        program = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
        if program is None:
            self.skipTest("trace_processor_shell is not installed (get.perfetto.dev/trace_processor)")
        query = os.path.join(self.folder.name, "query.sql")
        with open(query, "w", encoding="utf-8") as file:
            file.write(
                "SELECT thread.name AS track, COUNT(*) AS slices, SUM(slice.dur) AS ns FROM slice"
                " JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid) GROUP BY 1 ORDER BY 1;"
            )
        done = subprocess.run([program, "-q", query, self.path], check=True, capture_output=True, text=True)
        read = {row["track"]: (int(row["slices"]), int(row["ns"])) for row in csv.DictReader(io.StringIO(done.stdout))}
        for (_, thread), slices in self.tracks.slices.items():
            self.assertEqual(read[thread], (len(slices), sum(nanoseconds(one["dur"]) for one in slices)), thread)


if __name__ == "__main__":
    unittest.main()
