# SPDX-License-Identifier: Apache-2.0
"""Checks that memory and time are in proportion to a trace, not to its numbers: the peak memory of a command is at most
64 bytes per record, 3 bytes per page that the trace touches, in whole 2 MB blocks, and a constant.

Items of a kernel's lists (extents, touches, phases) count as records. A trace can demand more only by a number that
sim/trace/limits.h forbids: then every command refuses it, and so does `validate`."""

import json
import pathlib
import subprocess
import unittest

from command import ROOT, SYSTEM, CommandTest

CONSTANT_BYTES = 256 << 20
BLOCK = 2 << 20
TIB = 1 << 40


def alloc(number, size, **more):
    return {"t": "object_alloc", "id": number, "bytes": size, **more}


def kernel(*accesses, **more):
    return {"t": "kernel", "name": "k", "grid": [64], "block": [256], "duration_ns": 1000, "accesses": list(accesses), **more}


def few_pages(number, pages=16):
    return [number, [[0, pages, "rw"]]]


# Yields ten extremes: records (after the header, quanta of 4096 bytes), number of records and items of lists, number of
# touched 2 MB blocks; or None for both if the trace is refused.
def extremes():
    sparse = [[block * 512, 1, "r"] for block in range(0, 1 << 16, 64)]
    yield "untouched", [alloc(1, 1 << 46), kernel(few_pages(1))], 3, 1
    yield "largest object", [alloc(1, 1 << 47), kernel(few_pages(1))], 3, 1
    yield "sparse touches", [alloc(1, 1 << 44), kernel([1, sparse])], 2 + len(sparse), len(sparse)
    yield "hints on all of it", [
        alloc(1, 64 * TIB),
        {"t": "advise", "object": 1, "offset": 0, "bytes": 64 * TIB, "advice": "set_preferred_location", "device": 0},
        {"t": "advise", "object": 1, "offset": 0, "bytes": 64 * TIB, "advice": "set_read_mostly"},
        kernel(few_pages(1)),
    ], 5, 1
    yield "discard and free", [
        alloc(1, 64 * TIB),
        kernel(few_pages(1)),
        {"t": "discard", "object": 1, "offset": 0, "bytes": 64 * TIB},
        {"t": "object_free", "id": 1},
    ], 5, 1
    yield "many large objects", [alloc(number, TIB) for number in range(1, 101)] + [kernel(few_pages(100))], 102, 1
    yield "more than there are addresses", [alloc(number, 1 << 46) for number in range(1, 5)] + [kernel(few_pages(1))], None, None
    pages = 4 * 256 * 256
    yield "phases of large objects", [
        alloc(1, pages * 4096),
        kernel(
            [1, [[0, pages, "r"]]],
            grid=[20000],
            phases=[[block, 1, [[0, [[0, pages, "r"]]]]] for block in range(20000)],
        ),
    ], 40002, pages // 512
    yield "a huge grid of tiles", [
        alloc(1, 4 * BLOCK),
        kernel([1, [[0, 2048, "r"]]], grid=[1 << 20, 1 << 15], distribution="tiled"),
    ], None, None
    yield "a huge grid of slices", [
        alloc(1, 4 * BLOCK),
        kernel([1, [[0, 2048, "r"]]], grid=[1 << 20, 1 << 15]),
        kernel([1, [[0, 2048, "r"]]], grid=[1 << 20, 1 << 15], distribution="grid_stride"),
        kernel([1, [[0, 2048, "r"]]], grid=[1 << 20, 1 << 15], distribution="thread_chunk"),
    ], 7, 4


class ProportionTest(CommandTest):
    def commands(self, trace, searches):
        """Yields commands that read a trace, with their outputs in the folder."""
        half = (*SYSTEM, "--osf", "2", "--hypothetical-capacity")  # of what is allocated
        yield "run", trace, *SYSTEM, "--capacity-bytes", "1GiB", "--timeline", "out.timeline.json", "--no-unlimited-run"
        yield "run", trace, *half, "--json", "kept.jsonl", "--profile", "kept.profile"
        yield "report", "kept.jsonl", "kept.profile", "-o", "out.html"
        yield "compare", "kept.jsonl", "kept.jsonl"
        if searches:  # these run the program many times
            yield "why", trace, *half
            yield "cliff", trace, *SYSTEM
            yield "fit", trace, "--gpus", SYSTEM[1]
            yield "advise", trace, *half, "--output", "out.advised.uvmt"
        yield "bounds", trace, *SYSTEM, "--capacity-bytes", "1GiB"
        yield "trace", "info", trace
        yield "trace", "validate", trace
        yield "trace", "dump", trace, "-o", "out.jsonl"
        yield "trace", "pack", trace, "-o", "out.uvmt"
        yield "trace", "export", "oracle-general", trace, "-o", "out.bin"

    def assert_in_proportion(self, trace, items, blocks, searches=True):
        bound = CONSTANT_BYTES + 64 * items + 3 * 512 * blocks
        for command in self.commands(trace, searches):
            with self.subTest(" ".join(command)):
                done = self.run_measured(*command)
                self.assertIn(done.code, (0, 2), (command, done.err[-300:]))
                self.assertLess(done.peak_bytes, bound, (command, done.code, done.err[-300:]))
                self.assertNotIn("out of memory", done.err)
                for name in self.folder.glob("out.*"):
                    name.unlink()
        for name in self.folder.glob("kept.*"):
            name.unlink()

    def test_of_ten_extremes(self):
        for name, records, items, blocks in extremes():
            with self.subTest(name):
                trace = self.trace("t.jsonl", *records)
                if items is None:
                    for command in (("trace", "validate", trace), ("run", trace, *SYSTEM), ("bounds", trace, *SYSTEM)):
                        done = self.run_measured(*command)
                        self.assert_one_line(done, "allowed")
                        self.assertLess(done.peak_bytes, CONSTANT_BYTES)
                    continue
                # Phases that all read everything take minutes if memory is smaller.
                self.assert_in_proportion(trace, items, blocks, searches=name != "phases of large objects")

    def test_of_every_policy(self):
        """No policy keeps state for memory that was never in use."""
        trace = self.trace("t.jsonl", alloc(1, 1 << 46), kernel(few_pages(1)))
        half = ("--osf", "2", "--hypothetical-capacity", "--no-unlimited-run")
        for policy in json.loads(self.run_ok("policies", "--json").out)["policies"]:
            if policy["slot"] == "schedule":  # those of scenarios
                continue
            with self.subTest(f"{policy['slot']} {policy['name']}"):
                done = self.run_measured("run", trace, *SYSTEM, *half, f"--{policy['slot']}", policy["name"])
                # 2: some policies require other machines or other memory
                self.assertIn(done.code, (0, 2), done.err[-300:])
                self.assertNotIn("out of memory", done.err)
                self.assertLess(done.peak_bytes, CONSTANT_BYTES)

    def test_of_pages_that_a_policy_fetches(self):
        """A policy that fetches all memory that kernels name takes memory for what the GPU holds, not for the rest."""
        trace = self.trace("t.jsonl", alloc(1, 1 << 46), kernel(few_pages(1), duration_ns=10**9))
        capacity = 8 << 30
        done = self.run_ok("run", trace, *SYSTEM, "--capacity-bytes", capacity, "--no-unlimited-run", "--plan", "deepum_ideal", "--json", "r.jsonl")
        self.assertLess(done.peak_bytes, CONSTANT_BYTES + 3 * capacity // 4096)
        counters = json.loads((self.folder / "r.jsonl").read_text())["counters"]
        self.assertGreater(counters["prefetched_pages"], capacity // 4096 // 2)

    def test_of_many_records(self):
        """Half a million records of each kind that takes hardly any space in a file when compressed."""
        count = 500_000
        for name, line in (
            ("waits", {"t": "sync", "kind": "device"}),
            ("events", {"t": "sync", "kind": "event_record", "event": 7}),
            ("marks", {"t": "range", "kind": "iteration_begin", "index": 0}),
        ):
            with self.subTest(name):
                head = json.dumps({"t": "header", "major": 1, "quantum_bytes": 4096}) + "\n"
                text = json.dumps(line) + "\n"
                if name == "marks":
                    text = json.dumps({"t": "range", "kind": "push", "name": "r"}) + "\n" + json.dumps({"t": "range", "kind": "pop"}) + "\n"
                plain = (head + text * count).encode()
                packed = subprocess.run(["zstd", "-q", "-c", "-3"], input=plain, stdout=subprocess.PIPE, check=True).stdout
                trace = self.write("t.uvmt", packed)
                for command in (("run", trace, *SYSTEM), ("bounds", trace, *SYSTEM), ("trace", "validate", trace), ("trace", "info", trace)):
                    done = self.run_measured(*command)
                    self.assertEqual(done.code, 0, (command, done.err[-300:]))
                    self.assertLess(done.peak_bytes, CONSTANT_BYTES + 64 * 2 * count, command)

    def test_of_the_fuzzers_corpus(self):
        folder = ROOT / "tests" / "fuzz" / "corpus" / "trace_reader"
        for path in sorted(folder.iterdir()):
            if path.suffix not in (".jsonl", ".uvmt"):
                continue
            trace = self.write(path.name, pathlib.Path(path).read_bytes())
            dumped = self.run_measured("trace", "dump", trace)
            records = [json.loads(line) for line in dumped.out.splitlines()[1:]] if dumped.code == 0 else []
            items = sum(1 + str(record).count("[") for record in records)
            blocks = sum(record["bytes"] // BLOCK + 1 for record in records if record["t"] == "object_alloc")
            self.assert_in_proportion(trace, items, blocks)

    def test_limits_have_two_sides(self):
        """Values beyond limits.h are refused, values at the limit are accepted."""
        self.assert_one_line(self.run_measured("trace", "validate", self.trace("t.jsonl", alloc(1, (1 << 47) + 1))), "140737488355328")
        self.run_ok("trace", "validate", self.trace("t.jsonl", alloc(1, 1 << 47)))
        self.run_ok("run", "t.jsonl", *SYSTEM)
        pushes = [{"t": "range", "kind": "push", "name": "r"}] * 256
        pops = [{"t": "range", "kind": "pop"}] * 256
        self.run_ok("trace", "validate", self.trace("t.jsonl", *pushes, *pops))
        self.assert_one_line(self.run_measured("trace", "validate", self.trace("t.jsonl", *pushes, pushes[0])), "fewer than 256")
        marks = [{"t": "range", "kind": f"iteration_{edge}", "index": index} for index in range((1 << 13) + 1) for edge in ("begin", "end")]
        self.run_ok("trace", "validate", self.trace("t.jsonl", *marks[:-2]))
        self.assert_one_line(self.run_measured("trace", "validate", self.trace("t.jsonl", *marks)), "8192")
        events = [{"t": "sync", "kind": "event_record", "event": number} for number in range((1 << 16) + 1)]
        self.run_ok("trace", "validate", self.trace("t.jsonl", *events[:-1]))
        self.assert_one_line(self.run_measured("trace", "validate", self.trace("t.jsonl", *events)), "65536")
        objects = [alloc(number + 1, 1) for number in range((1 << 18) + 1)]
        self.run_ok("trace", "validate", self.trace("t.jsonl", *objects[:-1]))
        self.assert_one_line(self.run_measured("trace", "validate", self.trace("t.jsonl", *objects)), "262144")


if __name__ == "__main__":
    unittest.main()
