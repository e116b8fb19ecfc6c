# SPDX-License-Identifier: Apache-2.0
"""The PyTorch helper observed through a stub of the injection library, with a fake torch."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SITE = os.path.join(ROOT, "tracer", "torch", "site")
COMPILER = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")


def compile_library(output, source, *options):
    command = [COMPILER, "-std=c++20", "-fPIC", "-shared", "-o", output, source, *options]
    subprocess.run(command, check=True)


class HelperTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp()
        cls.stub = os.path.join(cls.shared, "libstub.so")
        compile_library(cls.stub, os.path.join(ROOT, "tracer/torch/check/stub_injection.cpp"), "-I", ROOT)
        cls.packages = os.path.join(cls.shared, "packages")
        fake = os.path.join(HERE, "fake_torch")
        shutil.copytree(fake, cls.packages)
        lib = os.path.join(cls.packages, "torch", "lib")
        os.makedirs(lib)
        includes = ["-I", os.path.join(fake, "torch", "include"), "-I", os.path.join(fake, "cuda")]
        for name in ("c10_cuda", "torch_cpu"):
            compile_library(os.path.join(lib, f"lib{name}.so"), os.path.join(fake, f"fake_{name}.cpp"), *includes)
        with open(os.path.join(cls.shared, "empty.cpp"), "w"):
            pass
        compile_library(os.path.join(lib, "libc10.so"), os.path.join(cls.shared, "empty.cpp"))
        os.makedirs(os.path.join(cls.shared, "cuda_home"))
        shutil.copytree(os.path.join(fake, "cuda"), os.path.join(cls.shared, "cuda_home", "include"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def environment(self, **settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("UVMTRACE_")}
        environment.update(
            PYTHONPATH=SITE + os.pathsep + self.packages,
            PYTHONDONTWRITEBYTECODE="1",
            CUDA_INJECTION64_PATH=self.stub,
            UVMTRACE_LOG_DIR=self.folder,
            XDG_CACHE_HOME=os.path.join(self.shared, "cache"),
            CUDA_HOME=os.path.join(self.shared, "cuda_home"),
            CXX=COMPILER,
        )
        environment.update(settings)
        return {name: value for name, value in environment.items() if value is not None}

    def start(self, program, **settings):
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            env=self.environment(**settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_program(self, program, **settings):
        """Runs a program, which must exit with 0; returns the events and the text on stderr."""
        process = self.start(program, **settings)
        self.output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        return self.events(), errors

    def events(self):
        path = os.path.join(self.folder, "stub.jsonl")
        if not os.path.exists(path):
            return []
        with open(path) as file:
            return [json.loads(line) for line in file]

    @staticmethod
    def brief(events):
        """Each event as its type and its main value."""
        kinds = {"push": "name", "iteration": "index", "operator": "name"}
        return [(e["t"], e[kinds[e["t"]]]) if e["t"] in kinds else e["t"] for e in events]

    # --- loading ---

    def test_does_nothing_without_a_log_folder(self):
        program = "import sys, torch; print('uvmtrace' in sys.modules); torch.cuda.init()"
        events, errors = self.run_program(program, UVMTRACE_LOG_DIR=None)
        self.assertEqual((self.output, errors, events), ("False\n", "", []))

    def test_a_program_may_mark_iterations_without_torch_being_observed(self):
        program = """
            import uvmtrace, torch
            from torch.nn.modules.module import Module
            uvmtrace.iteration()
            Module()()
        """
        events, errors = self.run_program(program, UVMTRACE_TORCH="0")
        self.assertEqual((errors, self.brief(events)), ("", [("iteration", 0)]))

    def test_runs_the_other_sitecustomize(self):
        with open(os.path.join(self.folder, "sitecustomize.py"), "w") as file:
            file.write("chained = True\n")
        paths = os.pathsep.join([SITE, self.folder, self.packages])
        self.run_program("import sitecustomize; print(sitecustomize.chained)", PYTHONPATH=paths)
        self.assertEqual(self.output, "True\n")

    def test_a_missing_library_is_one_line(self):
        events, errors = self.run_program("import torch; print('on')", CUDA_INJECTION64_PATH="/nowhere.so")
        self.assertEqual(self.output, "on\n")
        self.assertEqual(len(errors.splitlines()), 1)
        self.assertIn("uvmtrace: PyTorch is not observed: /nowhere.so", errors)

    def test_the_loader_is_unchanged(self):
        program = """
            import sys, torch
            print(type(torch.__spec__.loader).__name__, 'exec_module' in vars(torch.__spec__.loader))
        """
        self.run_program(program)
        self.assertEqual(self.output, "SourceFileLoader False\n")

    def test_a_program_without_torch_is_left_alone(self):
        events, errors = self.run_program("print(1)")
        self.assertEqual((events, errors), ([], ""))

    # --- modules, iterations ---

    TRAINING = """
        import torch
        from torch.nn.modules.module import Module
        from torch.optim.optimizer import Sgd
        class Head(Module): pass
        model = Module(body=Module(), head=Head())
        for _ in range(2):
            model()
            torch.autograd.backward([])
            Sgd().step()
    """

    def test_modules_steps_and_iterations(self):
        events, errors = self.run_program(self.TRAINING)
        forward = [("push", "Module"), ("push", "body:Module"), "pop", ("push", "head:Head"), "pop", "pop"]
        rest = [("push", "backward"), "pop", ("push", "step:Sgd"), "pop"]
        expected = []
        for index in range(2):
            expected += [("iteration", index), *forward, *rest, ("iteration", index)]
        self.assertEqual(self.brief(events), [*expected, "flush"])
        self.assertEqual([e["begin"] for e in events if e["t"] == "iteration"], [True, False] * 2)
        self.assertEqual(errors, "")

    def test_modules_can_be_left_out(self):
        events, _ = self.run_program(self.TRAINING, UVMTRACE_TORCH_MODULES="0")
        self.assertEqual({e["t"] for e in events}, {"iteration", "flush"})

    def test_explicit_iterations_replace_the_optimizers(self):
        program = """
            import uvmtrace
            import torch
            from torch.nn.modules.module import Module
            from torch.optim.optimizer import Sgd
            model = Module()
            for _ in range(2):
                uvmtrace.iteration()
                with uvmtrace.range("mine"):
                    model()
                Sgd().step()
        """
        events, _ = self.run_program(program)
        marks = [(e["index"], e["begin"]) for e in events if e["t"] == "iteration"]
        self.assertEqual(marks, [(0, True), (0, False), (1, True)])
        self.assertIn(("push", "mine"), self.brief(events))

    def test_a_failing_forward_closes_its_range(self):
        program = """
            import torch
            from torch.nn.modules.module import Module
            class Bad(Module):
                def forward(self): raise ValueError
            for _ in range(2):
                try: Module(inner=Bad())()
                except ValueError: pass
        """
        events, _ = self.run_program(program)
        kinds = [e["t"] for e in events]
        self.assertEqual((kinds.count("push"), kinds.count("pop")), (4, 4))
        self.assertEqual(sum(e.get("name") == "Module" for e in events), 2)

    def test_a_compiled_region_is_left_alone(self):
        program = """
            import sys, torch
            from torch.nn.modules.module import Module
            from torch.optim.optimizer import Sgd
            frames = torch._C._dynamo.eval_frame
            seen = []
            class Compiled(Module):  # the compiler handles its forward
                def forward(self):
                    seen.append(frames.callback)
                    torch.compiler.tracing = True
                    Module(inner=Module())()
                    torch.autograd.backward([])
                    Sgd().step()
                    torch.compiler.tracing = False
            model = Compiled()
            frames.set_eval_frame("dynamo")
            # The compiler must skip every frame of the helper that runs under it.
            def profile(frame, event, argument):
                if event == "call" and "uvmtrace" in frame.f_code.co_filename and frames.callback is not None:
                    if frame.f_code not in frames.skipped:
                        seen.append(frame.f_code.co_name)
            sys.setprofile(profile)
            model()
            Sgd().step()
            sys.setprofile(None)
            seen.append(frames.callback)
            print(seen)
        """
        events, errors = self.run_program(program)
        self.assertEqual(errors, "")
        self.assertEqual(self.output, "['dynamo', 'dynamo']\n")
        ranges = [("push", "Compiled"), "pop", ("push", "step:Sgd"), "pop"]
        self.assertEqual(self.brief(events), [("iteration", 0), *ranges, ("iteration", 0), "flush"])

    def test_a_torch_without_a_compiler(self):
        program = """
            import torch
            from torch.nn.modules.module import Module
            Module()()
        """
        path = os.path.join(self.packages, "torch", "__init__.py")
        with open(path) as file:
            text = file.read()
        old = os.path.join(self.folder, "torch")
        shutil.copytree(os.path.join(self.packages, "torch"), old)
        with open(os.path.join(old, "__init__.py"), "w") as file:
            file.write(text.replace("class _dynamo", "class _other").replace("class compiler", "class other"))
        events, errors = self.run_program(program, PYTHONPATH=SITE + os.pathsep + self.folder)
        self.assertEqual(errors, "")
        # The merge ends an iteration that is open when the program ends.
        self.assertEqual(self.brief(events), [("iteration", 0), ("push", "Module"), "pop", "flush"])

    def test_a_forked_child_records_nothing(self):
        program = """
            import os, torch
            from torch.nn.modules.module import Module
            child = os.fork()
            if child == 0:
                Module()()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """
        events, _ = self.run_program(program)
        self.assertEqual(self.brief(events), ["flush"])

    # --- tensors ---

    TENSORS = """
        import torch
        torch.cuda.init()
        entry = torch.fake_library("c10_cuda").fake_entry
        import ctypes
        entry.argtypes = [ctypes.c_int] + [ctypes.c_size_t] * 3
        ALLOC, FREE, DONE, SEGMENT, SEGMENT_FREE = range(5)
    """

    def tensor_program(self, text, **settings):
        return self.run_program(textwrap.dedent(self.TENSORS) + textwrap.dedent(text), **settings)

    def test_tensors_and_segments(self):
        program = """
            entry(SEGMENT, 0x10000, 2097152, 7)
            entry(ALLOC, 0x10000, 1000, 7)
            entry(FREE, 0x10000, 1000, 7)
            entry(DONE, 0x10000, 1000, 7)
            entry(ALLOC, 0x10200, 20, 0)
            entry(FREE, 0x10200, 20, 0)
            entry(ALLOC, 0x10400, 30, 0)
            entry(DONE, 0x10200, 20, 0)     # another stream used it
            entry(8, 0x10200, 20, 0)
            entry(SEGMENT_FREE, 0x10000, 2097152, 7)
        """
        events, errors = self.tensor_program(program)
        self.assertEqual(errors, "")
        for event in events:
            del event["tid"]
        self.assertEqual(
            events,
            [
                {"t": "segment_alloc", "va": 0x10000, "bytes": 2097152, "stream": 7, "device": 3},
                {"t": "tensor_alloc", "va": 0x10000, "bytes": 1000, "stream": 7},
                {"t": "tensor_free", "va": 0x10000},
                {"t": "tensor_free_done", "va": 0x10000},
                {"t": "tensor_alloc", "va": 0x10200, "bytes": 20, "stream": 0},
                {"t": "tensor_free", "va": 0x10200},
                {"t": "tensor_alloc", "va": 0x10400, "bytes": 30, "stream": 0},
                {"t": "tensor_free_done", "va": 0x10200},
                {"t": "segment_free", "va": 0x10000, "bytes": 2097152},
                {"t": "flush"},
            ],
        )

    def test_the_next_iteration_begins_with_its_first_tensor(self):
        program = """
            from torch.nn.modules.module import Module
            from torch.optim.optimizer import Sgd
            for size in (1, 2):
                entry(ALLOC, size * 512, size, 0)
                Module()()
                Sgd().step()
        """
        events, _ = self.tensor_program(program, UVMTRACE_TORCH_MODULES="0")
        kinds = [(e["t"], e.get("begin")) for e in events]
        begin, end, tensor = ("iteration", True), ("iteration", False), ("tensor_alloc", None)
        self.assertEqual(kinds, [tensor, begin, end, begin, tensor, end, ("flush", None)])

    def test_waits_for_the_gpu_at_the_end(self):
        program = """
            import atexit
            atexit._run_exitfuncs()
            print(torch.cuda.synchronized)
        """
        self.tensor_program(program)
        self.assertEqual(self.output, "1\n")

    def test_compiled_once_and_by_one_process(self):
        cache = os.path.join(self.folder, "cache")
        program = textwrap.dedent(self.TENSORS) + "entry(ALLOC, 512, 1, 0)"
        processes = [self.start(program, XDG_CACHE_HOME=cache) for _ in range(3)]
        for process in processes:
            _, errors = process.communicate(timeout=120)
            self.assertEqual((process.returncode, errors), (0, ""))
        files = sorted(os.listdir(os.path.join(cache, "uvmtrace")))
        self.assertEqual(len(files), 2, files)
        self.assertTrue(files[0].startswith("allocator_trace-torch-2.0.fake-") and files[0].endswith(".so"), files)
        library = os.path.join(cache, "uvmtrace", files[0])
        written = os.stat(library).st_mtime_ns
        self.assertEqual(len([e for e in self.events() if e["t"] == "tensor_alloc"]), 3)
        self.run_program(program, XDG_CACHE_HOME=cache, CXX="/nowhere", PATH="/nowhere")
        self.assertEqual(os.stat(library).st_mtime_ns, written)

    def assert_not_recorded(self, reason, **settings):
        events, errors = self.tensor_program("entry(ALLOC, 512, 1, 0); print('on')", **settings)
        self.assertEqual(self.output, "on\n")
        self.assertEqual(len(errors.splitlines()), 1, errors)
        self.assertIn("uvmtrace: tensor lifetimes are not recorded: " + reason, errors)
        self.assertEqual(self.brief(events), ["flush"])

    def test_no_compiler(self):
        nothing = os.path.join(self.folder, "cache")
        self.assert_not_recorded("no C++ compiler", XDG_CACHE_HOME=nothing, CXX=None, PATH="/nowhere")

    def test_a_compiler_that_fails(self):
        nothing = os.path.join(self.folder, "cache")
        self.assert_not_recorded("false failed", XDG_CACHE_HOME=nothing, CXX="false")

    def test_an_allocator_without_trackers(self):
        self.assert_not_recorded("this allocator has no trackers", FAKE_TORCH_REFUSES="1")

    def test_expandable_segments_are_refused(self):
        setting = "max_split_size_mb:64,expandable_segments:True"
        self.assert_not_recorded("expandable segments are on", PYTORCH_CUDA_ALLOC_CONF=setting)

    def test_without_the_caching_allocator_there_is_nothing_to_say(self):
        events, errors = self.tensor_program("pass", PYTORCH_NO_CUDA_MEMORY_CACHING="1")
        self.assertEqual((self.brief(events), errors), (["flush"], ""))

    # --- operators ---

    OPERATORS = """
        import torch
        torch.cuda.init()
        def run(name, arguments, results):
            torch.fake_library("torch_cpu").fake_operator(name.encode(), arguments.encode(), results.encode())
        a = "1000/4,8/8,1/4"
        b = "2000/4,4/8,2/4"     # a strided view: the last element is at 3 * 8 + 3 * 2 = 30
        c = "3000/2/1/2"
        on_host = "4000/2/1/4/host"
    """

    def operator_program(self, text, **settings):
        program = textwrap.dedent(self.OPERATORS) + textwrap.dedent(text)
        return self.run_program(program, UVMTRACE_TORCH_OPERATORS="1", **settings)

    def test_operators_say_what_they_read_and_write(self):
        program = """
            run("aten::mm", f"r={a} r={b}", f"r={c}")
            run("aten::add_", f"w={a} r={b} r=1", f"w={a}")
            run("aten::mm.out", f"r={a} o={c}", f"w={c}")
            run("aten::_foreach_add_", f"w=[{a};{c}] r=[{on_host};3]", "")
            run("aten::two", f"r={a}", f"r={b} r=[{c}] v={a}")
        """
        events, errors = self.operator_program(program)
        self.assertEqual(errors, "")
        whole_a, whole_b, whole_c = [0x1000, 128], [0x2000, 124], [0x3000, 4]
        tensors = [e["tensors"] for e in events if "tensors" in e]
        self.assertEqual(
            tensors,
            [
                [whole_a + [1], whole_b + [1]], [whole_c + [2]],
                [whole_a + [3], whole_b + [1]], [],
                [whole_a + [1], whole_c + [2]], [],
                [whole_a + [3], whole_c + [3]], [],
                [whole_a + [1]], [whole_b + [2], whole_c + [2]],
            ],
        )  # fmt: skip
        one = ["operator", "operator_outputs", "operator_end"]
        self.assertEqual([e["t"] for e in events], one * 5 + ["flush"])
        self.assertEqual(events[0]["name"], "aten::mm")

    def test_operators_of_no_interest_are_left_out(self):
        program = """
            run("aten::view", f"v={a}", f"v={a}")
            run("aten::empty", "r=1", f"r={a}")
            run("aten::mul", f"r={on_host} r=2", f"r={on_host}")
            run("", f"r={a}", "")                      # has no schema: not an operator
            run("profiler::_record_function_exit", "r=1", "")
        """
        events, _ = self.operator_program(program)
        self.assertEqual(self.brief(events), ["flush"])

    def test_operators_are_not_recorded_after_the_end(self):
        program = """
            import atexit
            atexit._run_exitfuncs()
            run("aten::mm", f"r={a} r={b}", f"r={c}")
        """
        events, _ = self.operator_program(program)
        self.assertEqual(self.brief(events), ["flush"])

    def test_operators_need_a_compiler(self):
        nothing = os.path.join(self.folder, "cache")
        settings = {"XDG_CACHE_HOME": nothing, "CXX": "false", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
        events, errors = self.operator_program('run("aten::mm", f"r={a} r={b}", f"r={c}")', **settings)
        self.assertIn("uvmtrace: operators are not recorded: false failed", errors)
        self.assertEqual((len(errors.splitlines()), self.brief(events)), (1, ["flush"]))


if __name__ == "__main__":
    if COMPILER is None:
        print("skipped: no C++ compiler")
        sys.exit(77)
    unittest.main()
