# SPDX-License-Identifier: Apache-2.0
"""The commands that write files, on inputs so small that one run takes a moment."""

import dataclasses
import os
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
UVMSIM = os.environ["UVMSIM_COMMAND"]
UVMTRACE = os.environ.get("UVMTRACE_COMMAND", "")
SYSTEM = ["--system", "h200-sxm-pcie5"]
EXPERIMENTS = str(SOURCE / "tests/ground_truth/data/uvm_h200_dev.jsonl.zst")
MARKDOWN = "<!-- validate:begin -->\n<!-- validate:end -->\n"


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    arguments: list[str]
    outputs: list[str]  # files; a name that ends in "/" is a folder that the command continues
    program: str = UVMSIM
    before: str | None = "what was there before\n"  # content of the outputs before the command; None: they do not exist
    reports: bool = False  # exit code 1: a point failed, and the outputs name it
    again: bool = True  # the same command can run again in the same folder


ALL = [
    Command(
        "run",
        ["run", "a.uvmt", *SYSTEM, "--osf", "2", "--json", "o.jsonl", "--csv", "o.csv", "--profile", "o.profile"],
        ["o.jsonl", "o.csv", "o.profile"],
    ),
    Command("run --timeline", ["run", "a.uvmt", *SYSTEM, "--osf", "2", "--timeline", "o.json.gz"], ["o.json.gz"]),
    Command("bounds", ["bounds", "a.uvmt", *SYSTEM, "--osf", "2", "--json", "o.jsonl"], ["o.jsonl"]),
    Command("scenario", ["scenario", "scenario.json", "--json", "o.json", "--timeline", "t.json"], ["o.json", "t.json"]),
    Command("sweep", ["sweep", "s.json", "-o", "out", "--jobs", "2"], ["out/"]),
    Command("league", ["league", "a.uvmt", *SYSTEM, "--osf", "2", "--evict", "lrm", "-o", "out", "--jobs", "2"], ["out/"],
            reports=True),
    Command("check --new", ["check", "new.json", "--new", "a.uvmt", *SYSTEM, "--osf", "2"], ["new.json"], before=None,
            again=False),
    Command("check --junit", ["check", "b.json", "--junit", "o.xml"], ["o.xml"], reports=True),
    Command("compare", ["compare", "r.jsonl", "r.jsonl", "--json", "o.json"], ["o.json"]),
    Command("report", ["report", "r.jsonl", "-o", "o.html"], ["o.html"]),
    Command("validate", ["validate", EXPERIMENTS, *SYSTEM, "--only", "seq_s512_r_host", "--json", "o.json",
                         "--markdown", "o.md"], ["o.json", "o.md"], before=MARKDOWN),
    Command("trace generate", ["trace", "generate", "zipf", "--bytes", "2MiB", "-o", "o.uvmt"], ["o.uvmt"]),
    Command("trace pack", ["trace", "pack", "a.jsonl", "-o", "o.uvmt"], ["o.uvmt"]),
    Command("trace dump", ["trace", "dump", "a.uvmt", "-o", "o.jsonl"], ["o.jsonl"]),
    Command("trace hint", ["trace", "hint", "a.uvmt", "--hints", "h.txt", "-o", "o.uvmt"], ["o.uvmt"]),
    Command("trace export", ["trace", "export", "oracle-general", "a.uvmt", "-o", "o.bin"], ["o.bin"]),
    Command("trace import", ["trace", "import", "oracle-general", "a.bin", "-o", "o.uvmt"], ["o.uvmt"]),
]  # fmt: skip
if UVMTRACE:
    ALL.append(
        Command("uvmtrace merge", ["merge", "timing.jsonl", "access.jsonl", "-o", "o.uvmt"], ["o.uvmt"], UVMTRACE)
    )


def make_inputs(folder):
    def run(*arguments):
        subprocess.run([UVMSIM, *arguments], cwd=folder, check=True, capture_output=True)

    run("trace", "generate", "stencil", "--bytes", "8MiB", "--repeats", "2", "--write-percent", "30", "-o", "a.uvmt")
    run("trace", "dump", "a.uvmt", "-o", "a.jsonl")
    run("trace", "export", "oracle-general", "a.uvmt", "-o", "a.bin")
    run("run", "a.uvmt", *SYSTEM, "--osf", "2", "--json", "r.jsonl")
    run("check", "b.json", "--new", "a.uvmt", *SYSTEM, "--osf", "2")
    write = {
        "s.json": '{"traces": "a.uvmt", "systems": "h200-sxm-pcie5", "osf": [1.5, 2], "prefetch": ["none", "tree"]}',
        "scenario.json": '{"system": "hgx-a100", "programs": [{"name": "a", "trace": "a.uvmt", "gpus": [0]},'
        ' {"name": "b", "trace": "a.uvmt", "gpus": [1], "osf": 2}]}',
        "h.txt": "object_alloc * prefetch\n",
    }
    for name, text in write.items():
        (folder / name).write_text(text)
    passes = (SOURCE / "tests/fuzz/corpus/recording/two_passes.log").read_text().split("\n--\n")
    (folder / "timing.jsonl").write_text(passes[0] + "\n")
    (folder / "access.jsonl").write_text(passes[1])
