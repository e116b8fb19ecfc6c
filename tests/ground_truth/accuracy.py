#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All ground truth in one table, the worst first: simulated against measured time.

    accuracy.py UVMSIM             run everything (some ten minutes) and print the table
    accuracy.py UVMSIM --update    and write it into docs/accuracy.md, its lines into README.md, and the programs
                                   beyond memory into docs/how_right.md
    accuracy.py UVMSIM --update-programs   the same, but run only the programs of others, and keep the other rows
    accuracy.py --readme           check that the README's lines are those of docs/accuracy.md; run nothing

A row is a kind of experiment of one file, a program beyond memory, or a whole model. "held out": nothing was chosen
by it; "fitted on": a number was; "looked at": structure was, no number.
"""

import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

FOLDER = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(FOLDER))
sys.path.insert(0, FOLDER)

import score_classes  # noqa: E402

PAGE, README = os.path.join(TOP, "docs", "accuracy.md"), os.path.join(TOP, "README.md")
HOW_RIGHT = os.path.join(TOP, "docs", "how_right.md")
ACCURACY, BEYOND = "accuracy", "beyond-memory"  # the marks in these pages
HELD_OUT, FITTED, LOOKED = "held out", "fitted on", "looked at"

# File, system, description, and how each class of its experiments was used.
FILES = [
    ("two_part_h200.jsonl.zst", "h200-sxm-pcie5", "H200, unobserved", lambda one: half_by_sha(one)),
    ("two_part_calls_h200.jsonl.zst", "h200-sxm-pcie5", "H200, unobserved", lambda one: half_by_sha(one)),
    ("loops_unobserved_h200.jsonl.zst", "h200-sxm-pcie5", "another H200, unobserved", lambda one: half_by_sha(one)),
    ("two_part_h100.jsonl.zst", "h100-sxm", "H100, unobserved", lambda one: HELD_OUT),
    ("two_part_calls_h100.jsonl.zst", "h100-sxm", "H100, unobserved", lambda one: HELD_OUT),
    ("remote_calls_h200.jsonl.zst", "h200-sxm-pcie5", "H200, unobserved", lambda one: LOOKED),
    ("remote_calls_h100.jsonl.zst", "h100-sxm", "H100, unobserved", lambda one: LOOKED),
    ("uvm_h200_dev.jsonl.zst", "h200-sxm-pcie5", "H200", lambda one: FITTED),
    ("library_kernels_h200_dev.jsonl.zst", "h200-sxm-pcie5", "H200, PyTorch calls", lambda one: FITTED),
    (
        "uvm_h200_second.jsonl.zst",
        "h200-sxm-pcie5",
        "another H200 machine",
        lambda one: HELD_OUT if one["class"] == "ordered" else LOOKED,
    ),
    ("loops_h200.jsonl.zst", "h200-sxm-pcie5", "H200, loops of many shapes", lambda one: LOOKED),
    ("library_calls_h200.jsonl.zst", "h200-sxm-pcie5", "H200, more PyTorch calls", lambda one: LOOKED),
    ("library_classes_h200.jsonl.zst", "h200-sxm-pcie5", "H200, PyTorch calls by kind", lambda one: half_of(one)),
    ("library_classes_h100.jsonl.zst", "h100-sxm", "H100, PyTorch calls by kind", lambda one: half_of(one)),
    ("uvm_h100.jsonl.zst", "h100-sxm", "H100", lambda one: HELD_OUT),
    ("peers_h200_x2.jsonl.zst", "hgx-h200-x2", "two H200", lambda one: HELD_OUT),
]
CAMPAIGNS = [
    ("oversubscribed_rtx5070ti.jsonl", "rtx5070ti-pcie5", "RTX 5070 Ti", ("in_K64", "ov_K64")),
    ("oversubscribed_rtx4080.jsonl", "rtx4080-pcie4", "RTX 4080", ("P1_R3",)),
    ("oversubscribed_gtx1080ti.jsonl", "gtx1080ti-pcie3", "GTX 1080 Ti", ("t5", "t20")),
    ("oversubscribed_rtx5090.jsonl", "rtx5090-pcie5", "RTX 5090", ("seq_stream_1.25", "gemm_one_1.07")),
    ("oversubscribed_a30.jsonl", "a30-pcie4", "A30", ()),
    ("oversubscribed_rtx3090.jsonl", "rtx3090-pcie4", "RTX 3090", ("mvt_1.00",)),
    ("oversubscribed_v100.jsonl", "v100-pcie-16g", "V100", ()),
]
# Folder of the traces, file of the measurements, system, models, how they were used.
MODELS = [
    ("", "pytorch_h200_third.json", "h200-sxm-pcie5", "H200", LOOKED),
    ("", "pytorch_h200_unseen.json", "h200-sxm-pcie5", "H200", HELD_OUT),
    ("h100", "pytorch_h100_unseen.json", "h100-sxm", "H100", HELD_OUT),
]
CLASSES = {
    "ordered": "one thread, known accesses",
    "parallel": "many threads, known accesses",
    "cpu": "CPU and GPU in turns",
    "library": "single PyTorch calls",
    "remote": "single PyTorch calls in place on the host",
}


@dataclass
class Row:
    place: str  # the machine on which it was measured
    what: str
    use: str
    errors: dict  # name: signed error of the time in percent
    beyond: str = ""  # GPU memory: the program's line of that table

    @property
    def worst(self):
        return max(self.errors, key=lambda name: abs(self.errors[name]))

    @property
    def largest(self):
        return abs(self.errors[self.worst])

    @property
    def median(self):
        return statistics.median(abs(error) for error in self.errors.values())


def half_by_sha(one):
    """Returns the half that driver costs were fitted on, and the other half (configs/README.md)."""
    return FITTED if int(hashlib.sha256(one["name"].encode()).hexdigest()[-2], 16) % 2 == 0 else HELD_OUT


def half_of(one):
    return LOOKED if score_classes.call_classes.dev(one["name"]) else HELD_OUT


def error_of(pair):
    return 100 * (pair["simulated"] / pair["measured"] - 1)


def one_pass_of(file):
    """Returns the campaign with products of one pass, because passes after the first repeat it and all of them take
    hours."""
    with open(os.path.join(FOLDER, "data", file), encoding="utf-8") as opened:
        experiments = [json.loads(line) for line in opened]
    for one in experiments:
        if one.get("program") == "layer_products":
            passes, one["passes"] = one["passes"], 1
            one["steady"] = {"from": one["steady"]["from"], "time_ns": one["steady"]["time_ns"] // passes}
            for total in ("finish_ns", "published_total"):
                one.pop(total, None)
    shortened = tempfile.NamedTemporaryFile("w", suffix=".jsonl")
    shortened.writelines(json.dumps(one) + "\n" for one in experiments)
    shortened.flush()
    return shortened


def validated(uvmsim, file, system):
    command = [uvmsim, "validate", os.path.join(FOLDER, "data", file), "--system", system, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: something is outside the tolerances
        raise SystemExit(f"accuracy.py: {' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["experiments"]


def rows_of_experiments(uvmsim):
    rows = {}
    for file, system, place, use_of in FILES:
        for one in validated(uvmsim, file, system):
            pair = one["judged_ns"]
            if not pair["measured"]:
                continue
            use = use_of(one)
            key = (place, CLASSES.get(one["class"], one["class"]), use)
            rows.setdefault(key, {})[one["name"]] = error_of(pair)
    return [Row(*key, errors) for key, errors in rows.items()]


def rows_of_campaigns(uvmsim):
    rows = []
    for file, system, place, fitted in CAMPAIGNS:
        with one_pass_of(file) as shortened:
            experiments = validated(uvmsim, shortened.name, system)
        for one in experiments:
            run = one["campaign"]
            beyond = run["footprint_blocks"] > run["capacity_blocks"]
            times = {"steady step": run.get("steady_ns"), "end": run.get("finish_ns")}
            times.update((step["name"], step["time_ns"]) for step in run["steps"] if "measured" in step["time_ns"])
            errors = {f"{one['name']}, {step}": error_of(pair) for step, pair in times.items() if pair}
            if errors:
                use = FITTED if one["name"].startswith(fitted) else HELD_OUT
                rows.append(Row(place, one["name"], use, errors, beyond_line(place, one, use) if beyond else ""))
    return rows


def milliseconds(ns):
    return f"{ns / 1e6:,.0f}" if ns >= 1e8 else f"{ns / 1e6:.1f}"


def beyond_line(place, one, use):
    """Returns the line of a steady step of the program if it has one, otherwise of all measured steps."""
    run = one["campaign"]
    measured_steps = [step["time_ns"] for step in run["steps"] if "measured" in step["time_ns"]]
    if run.get("steady_ns"):
        what, pair = "steady step", run["steady_ns"]
    elif measured_steps:
        what = f"{len(measured_steps)} steps" if len(measured_steps) > 1 else "all"
        pair = {side: sum(step[side] for step in measured_steps) for side in ("measured", "simulated")}
    else:
        what, pair = "all", run["finish_ns"]
    share = run["capacity_blocks"] / run["footprint_blocks"]
    return (
        f"| {place} | `{one['name']}`, {what} | {share:.2f} | {milliseconds(pair['measured'])} |"
        f" {milliseconds(pair['simulated'])} | {error_of(pair):+.1f} % | {use} |"
    )


def wall_time_of(rows):
    return statistics.median(row["wall_alone_ms"] for row in rows["managed_nopca"][1:])


def rows_of_models(uvmsim):
    rows = []
    for folder, file, system, place, use in MODELS:
        with open(os.path.join(FOLDER, "data", file), encoding="utf-8") as opened:
            models = json.load(opened)
        errors = {}
        for model, measured in models.items():
            trace = os.path.join(TOP, "workloads", folder, f"{model}.uvmt")
            if model == "source" or not os.path.exists(trace) or "managed_nopca" not in measured:
                continue
            command = [uvmsim, "run", trace, "--system", system, "--layout", "none", "--iterations", "recorded"]
            done = subprocess.run(command + ["--no-unlimited-run", "--json", "-"], capture_output=True, text=True, check=True)
            last = json.loads(done.stdout)["iterations"][-1]
            errors[model] = error_of({"simulated": last["duration_ns"] / 1e6, "measured": wall_time_of(measured)})
        rows.append(Row(place, "training steps of whole models", use, errors))
    return rows


def all_rows(uvmsim):
    return rows_of_experiments(uvmsim) + rows_of_campaigns(uvmsim) + rows_of_models(uvmsim)


HEADER = "| machine | what | used | n | median error of time | worst | which |\n|---|---|---|---|---|---|---|"


BEYOND_HEADER = (
    "| GPU | program | memory / data | measured ms | simulated ms | error | used |\n|---|---|---|---|---|---|---|"
)


def beyond_table(rows):
    return "\n".join([BEYOND_HEADER] + [row.beyond for row in rows if row.beyond])


def table_of(rows, kept=()):
    """Returns the table, the worst first. `kept`: lines of the old table that stay."""
    lines = list(kept)
    for row in rows:
        what = f"{row.what} (beyond memory)" if row.beyond else row.what
        lines.append(
            f"| {row.place} | {what} | {row.use} | {len(row.errors)} | {row.median:.1f} % | {row.errors[row.worst]:+.1f} % |"
            f" `{row.worst}` |"
        )
    return "\n".join([HEADER] + sorted(lines, key=lambda line: -abs(parsed_line(line)[5])))


def parsed_line(line):
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if len(cells) != 7 or not cells[3].isdigit():
        return None
    return (*cells[:3], int(cells[3]), float(cells[4].rstrip(" %")), float(cells[5].rstrip(" %")), cells[6])


def parsed(table):
    """Returns [(machine, what, use, n, median, worst, which)] of a table that this script wrote."""
    return [row for row in map(parsed_line, table.splitlines()) if row]


def is_unobserved(machine):
    return machine.endswith("unobserved")


MACHINES_OF_OTHERS = {machine for _, _, machine, _ in CAMPAIGNS}
GROUPS = [
    ("unobserved, known accesses", lambda m, w: is_unobserved(m) and w in (CLASSES["ordered"], CLASSES["parallel"])),
    ("unobserved, single PyTorch calls", lambda m, w: is_unobserved(m) and w == CLASSES["library"]),
    ("unobserved, PyTorch calls in place on the host", lambda m, w: w == CLASSES["remote"]),
    ("unobserved, training steps of whole models", lambda m, w: w.startswith("training steps")),
    ("under a profiler, one thread, known accesses", lambda m, w: not is_unobserved(m) and w == CLASSES["ordered"]),
    ("under a profiler, many threads, known accesses", lambda m, w: not is_unobserved(m) and w == CLASSES["parallel"]),
    ("under a profiler, single PyTorch calls", lambda m, w: not is_unobserved(m) and w == CLASSES["library"]),
    ("programs of others, within memory", lambda m, w: m in MACHINES_OF_OTHERS and "beyond" not in w),
    ("programs of others, beyond memory", lambda m, w: "beyond memory" in w),
]


def readme_lines(table):
    """Returns the lines of the README: for each group the held-out and the other classes, including the worst."""
    lines = ["| simulated against measured time | n | median | worst |", "|---|---|---|---|"]
    rows = parsed(table)
    for name, is_of in GROUPS:
        for uses, label in (((HELD_OUT,), "held out"), ((FITTED, LOOKED), "fitted on, or looked at")):
            chosen = [row for row in rows if is_of(row[0], row[1]) and row[2] in uses]
            if not chosen:
                continue
            count = sum(row[3] for row in chosen)
            worst = max(chosen, key=lambda row: abs(row[5]))
            # For rows with several experiments, takes the median of the rows' medians, weighted by their numbers of
            # experiments.
            medians = sorted(median for row in chosen for median in [row[4]] * row[3])
            lines.append(
                f"| {name}, {label} | {count} | {statistics.median(medians):.1f} % | {worst[5]:+.1f} % ({worst[0]}, {worst[6]}) |"
            )
    return "\n".join(lines)


def between(text, mark, where):
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    found = re.search(f"{re.escape(begin)}\n(.*?)\n{re.escape(end)}", text, re.DOTALL)
    if not found:
        raise SystemExit(f"accuracy.py: {where}: the lines {begin} and {end} are missing")
    return found.group(1)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def replace(path, mark, content):
    text = read(path)
    old = between(text, mark, path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(f"<!-- {mark}:begin -->\n{old}\n", f"<!-- {mark}:begin -->\n{content}\n"))


def check_readme():
    wanted = readme_lines(between(read(PAGE), ACCURACY, PAGE))
    if wanted == between(read(README), ACCURACY, README):
        return 0
    print("accuracy.py: README.md: its lines are not those of docs/accuracy.md, which are\n" + wanted, file=sys.stderr)
    return 1


def others(line):
    row = parsed_line(line)
    return row is None or row[0] in MACHINES_OF_OTHERS


def main():
    arguments = sys.argv[1:]
    if arguments == ["--readme"]:
        return check_readme()
    if not arguments or arguments[0].startswith("-") or arguments[1:] not in ([], ["--update"], ["--update-programs"]):
        print(__doc__)
        return 2
    if arguments[1:] == ["--update-programs"]:
        rows = rows_of_campaigns(arguments[0])
        table = table_of(rows, [line for line in between(read(PAGE), ACCURACY, PAGE).splitlines() if not others(line)])
    else:
        rows = all_rows(arguments[0])
        table = table_of(rows)
    if not arguments[1:]:
        print(table)
        return 0
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=TOP, capture_output=True, text=True, check=True)
    replace(PAGE, ACCURACY, f"{table}\n\nOf commit {commit.stdout.strip()}.")
    replace(README, ACCURACY, readme_lines(table))
    replace(HOW_RIGHT, BEYOND, beyond_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
