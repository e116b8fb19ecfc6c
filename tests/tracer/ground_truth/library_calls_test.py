#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs library_calls.py under a fake torch and a fake recorder. Tests which calls it keeps, which it leaves out and
why, and that
`uvmsim validate` reads its output. UVMSIM_COMMAND names the command."""
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SCRIPT = os.path.join(TOP, "tracer", "ground_truth", "library_calls.py")
sys.path.insert(0, os.path.dirname(SCRIPT))  # as when the script is started as a program
BLOCK = 2 << 20


class Tensor:
    dtype = "torch.float32"

    def __init__(self, shape, address):
        self.shape, self.address = shape, address

    def numel(self):
        count = 1
        for length in self.shape:
            count *= length
        return count

    def element_size(self):
        return 4

    def data_ptr(self):
        return self.address


class Machine:
    """A fake of GPU, allocator and recorder. A call writes one output: in 2 us if the output is on the GPU, else with a
    fault batch."""

    def __init__(self):
        self.next_address = 16 * BLOCK
        self.learning, self.learnt, self.prepared, self.place = True, [], [], 2
        self.kernels, self.counters, self.clock = [], [], 1000
        self.dropped, self.surprise, self.workspace_bytes, self.kernels_of_call = 0, False, 0, 1

    def allocate(self, size):
        address = self.next_address
        self.next_address += (size + 4095) // 4096 * 4096
        if self.learning:
            self.learnt.append((address, size))
        return address

    def call(self, *inputs):
        size = inputs[0].numel() * 4
        wanted = [size] + ([self.workspace_bytes] if self.workspace_bytes else [])
        if self.prepared:
            places = [address for address, _ in self.prepared]
        else:
            places = [self.allocate(bytes) for bytes in wanted]
        for _ in range(self.kernels_of_call):
            begin = self.clock
            if self.place != 2:  # the first 64 KB fault, the tree prefetches the rest
                self.counters.append([4, begin + 500, begin + 30000, places[0], 2, 2])
                if self.place == 1:
                    self.counters.append([1, begin + 9000, begin + 12000, places[0], 4096, 2])
                    self.counters.append([1, begin + 12000, begin + 20000, places[0] + 4096, size - 4096, 3])
                self.clock += 31000
            self.clock += 2000
            self.kernels.append({"kernel": "fake_kernel", "start_ns": begin, "end_ns": self.clock, "grid": [1024, 1, 1],
                                 "block": [128, 1, 1], "registers": 28, "shared_bytes": 0})
        return Tensor(inputs[0].shape, places[0])

    # The functions of the recorder's library.
    def uvm_learn(self):
        self.learning, self.learnt, self.prepared, self.place = True, [], [], 2

    def uvm_prepare(self, place, _device):
        self.learning, self.place, self.prepared = False, place, list(self.learnt)
        return len(self.prepared)

    def uvm_as_prepared(self):
        return 0 if self.surprise else 1

    def uvm_release_all(self):
        self.prepared = []


class Recorder:
    def __init__(self, machine):
        self.library = machine

    def host_speed(self):
        return {"cpu": "a CPU", "step_ps": 1000, "chase_ps": 90000, "page_touch_ps": 400000}

    def take(self):
        machine = self.library
        record = {"kernels": machine.kernels, "counters": machine.counters, "dropped": machine.dropped}
        machine.kernels, machine.counters = [], []
        return record

    def prepared(self, count):
        return self.library.prepared[:count]


def load_script():
    spec = importlib.util.spec_from_file_location("library_calls", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class LibraryCallsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = os.path.join(folder.name, "calls.jsonl")

    def run_script(self, *arguments, **machine_state):
        """Runs the script; returns (written lines, standard error)."""
        machine = Machine()
        for name, value in machine_state.items():
            assert hasattr(machine, name)
            setattr(machine, name, value)
        torch = mock.MagicMock()
        torch.Tensor = Tensor
        torch.randn = lambda *shape, device: Tensor(shape, machine.allocate(4 * Tensor(shape, 0).numel()))
        torch.relu = torch.add = machine.call
        script = load_script()
        torch.cuda.Event.return_value.elapsed_time.return_value = 0.021  # ms
        script.Recorder = lambda path, record=True: Recorder(machine)
        err = io.StringIO()
        with mock.patch.dict(sys.modules, torch=torch), mock.patch.object(
            sys, "argv", [SCRIPT, "recorder.so", self.output, *arguments]
        ), contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
            script.main()
        self.assertFalse(os.path.exists(self.output + ".part"))
        with open(self.output, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines], err.getvalue()

    def test_each_call_is_there_with_its_output_in_both_places(self):
        lines, err = self.run_script("--only", "relu_4m")
        self.assertEqual(err, "")
        self.assertEqual([(line["name"], line["outputs_on"]) for line in lines], [("relu_4m", "nowhere"), ("relu_4m", "host")])
        for line in lines:
            self.assertEqual([tensor["role"] for tensor in line["tensors"]], ["input", "output"])
            self.assertEqual([tensor["bytes"] for tensor in line["tensors"]], [4 << 20, 4 << 20])
            kernel = line["events"][0]
            self.assertEqual((kernel["start_ns"], kernel["native_ns"]), (0, 2000))
            faults = [event for event in line["events"] if isinstance(event, list)]
            self.assertEqual(faults[0][:5], ["gpu_fault", 500, 30000, 1, 0])  # of the second tensor, at its start
        self.assertEqual([event[0] for event in lines[1]["events"][1:]], ["gpu_fault", "htod", "htod"])

    def test_each_line_has_the_times_of_the_process_without_a_listener(self):
        lines, err = self.run_script("--only", "relu_4m", "--times", "3")
        self.assertEqual(err, "")
        for line in lines:
            self.assertEqual(line["unobserved"]["kernel_ns"], [21000] * 3)
            self.assertEqual(line["unobserved"]["host"]["step_ps"], 1000)
        lines, _ = self.run_script("--only", "relu_4m", "--times", "0")
        self.assertNotIn("unobserved", lines[0])

    def test_a_percentage_of_the_names_is_the_same_lot_each_time(self):
        def names(percent):
            lines, _ = self.run_script("--only", "relu", "--percent", percent, "--outputs", "host", "--times", "0")
            return {line["name"] for line in lines}

        self.assertEqual(names("100"), {"relu_4m", "relu_16m", "relu_64m"})
        self.assertEqual(names("40"), {"relu_4m", "relu_16m"})

    def test_validate_reads_them(self):
        self.run_script("--only", "add_32m")
        done = subprocess.run(
            [os.environ["UVMSIM_COMMAND"], "validate", self.output, "--system", "h200-sxm-pcie5"],
            capture_output=True, text=True, check=False,
        )
        # 1: outside the tolerances, because these numbers were not measured
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertIn("add_32m/gpu ", done.stdout)
        self.assertIn("add_32m/gpu/outputs_host ", done.stdout)

    def test_what_cannot_be_told_apart_is_left_out_and_named(self):
        for state, reason in (
            ({"dropped": 3}, "CUPTI dropped 3 records"),
            ({"surprise": True}, "it made other allocations than before"),
            ({"workspace_bytes": 1 << 20}, "several kernels, or a workspace"),
            ({"kernels_of_call": 2}, "several kernels, or a workspace"),
        ):
            lines, err = self.run_script("--only", "relu_4m", "--outputs", "host", **state)
            self.assertEqual(lines, [], reason)
            self.assertEqual(err, f"library_calls: relu_4m left out: {reason}\n")

    def test_all_keeps_workspaces(self):
        lines, err = self.run_script("--only", "relu_4m", "--outputs", "host", "--all", workspace_bytes=4096)
        self.assertEqual(err, "")
        self.assertEqual([tensor["name"] for tensor in lines[0]["tensors"]], ["in0", "out0", "workspace1"])


if __name__ == "__main__":
    unittest.main()
