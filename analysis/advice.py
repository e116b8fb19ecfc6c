# SPDX-License-Identifier: Apache-2.0
"""What `uvmsim advise` saves on shipped programs, beside the best policies of the league and the lower bound.

    python3 -m analysis.advice -o FOLDER [PROGRAM...] [--markdown FILE]

For each program: `uvmsim advise`, the program that it wrote run again, and a sweep of the driver's own and other policies
with bounds. Times are those of a settled iteration, or of the whole run where the trace marks none to repeat. "Run / bound" is
about the whole run without changes, and the bound that of policies that bring to the GPU what its kernels use. FOLDER keeps
what the commands wrote; what is there is not run again. The table is Markdown. Exit status: 1 if a promise is off by more than
2 %, 2 if a command failed.
"""

import json
import os
import pathlib
import resource
import shutil
import sqlite3
import subprocess
import sys
import time

from analysis.command import parser_of, run
from analysis.database import open_database
from analysis.errors import ResultError
from analysis.files import whole_file
from analysis.json_text import parse_json

# Ten kinds of programs: name, what it is, trace below workloads/, system, factor.
PROGRAMS = [
    ("alexnet_tf32", "training, convolutions", "alexnet_tf32.uvmt", "h200-sxm-pcie5", 1.5),
    ("gpt2_h200", "training, transformer", "gpt2_h200.uvmt", "h200-sxm-pcie5", 1.25),
    ("llm_generate", "a language model generates", "llm_generate.uvmt", "h200-sxm-pcie5", 2),
    ("moe_generate", "the same, mixture of experts", "h100/moe_generate.uvmt", "h100-sxm", 1.25),
    ("dlrm", "recommendation", "dlrm.uvmt", "h200-sxm-pcie5", 1.5),
    ("ivf_search", "search among vectors", "h100/ivf_search.uvmt", "h100-sxm", 1.25),
    ("graph_network", "training, graph network", "h100/graph_network.uvmt", "h100-sxm", 1.5),
    ("pagerank", "graph, all edges each step", "pagerank.uvmt", "h200-sxm-pcie5", 1.5),
    ("bfs", "graph, breadth first", "bfs.uvmt", "h200-sxm-pcie5", 1.5),
    ("tiled_matmul", "matrix product", "tiled_matmul.uvmt", "h200-sxm-pcie5", 2),
]

# The first nine of the league that do not know the future (configs/sweeps/LEAGUE.md).
POLICIES = [
    ("migrate", "gmem"),
    ("migrate", "host_pinned"),
    ("migrate", "access_counters"),
    ("plan", "deepum"),
    ("prefetch", "always_2mb"),
    ("plan", "deepum_ideal"),
    ("prefetch", "block_ahead"),
    ("evict", "slru"),
    ("evict", "arc"),
]
SLOTS = ("prefetch", "evict", "plan", "migrate")
MOST_OFF = 0.02
SECONDS_PER_POINT = 300


class Study:
    """Runs commands and keeps their outputs in a folder."""

    def __init__(self, uvmsim, workloads, folder):
        self.uvmsim, self.workloads, self.folder = uvmsim, pathlib.Path(workloads).resolve(), pathlib.Path(folder)

    def path(self, *names):
        return str(self.folder.joinpath(*names))

    def call(self, *arguments):
        try:
            done = subprocess.run([self.uvmsim, *map(str, arguments)], capture_output=True, text=True, check=False)
        except OSError as error:
            raise ResultError(f"{self.uvmsim}: {error.strerror}") from error
        if done.returncode != 0:
            raise ResultError((done.stderr.strip().splitlines() or [f"{self.uvmsim} failed"])[-1])

    def advise(self, name, trace, system, factor):
        """Returns the answer, the seconds that it took (by the clock, of processors), and the time of the advised program
        when it is run again."""
        answer_file, took_file, again_file = (self.path(name, file) for file in ("advise.json", "took.json", "again.json"))
        advised = self.path(name, "advised.uvmt")
        if not os.path.exists(took_file):
            begin, begin_processors = time.monotonic(), processor_seconds()
            self.call("advise", trace, "--system", system, "--osf", factor, "--json", answer_file, "--output", advised)
            took = [time.monotonic() - begin, processor_seconds() - begin_processors]
            pathlib.Path(took_file).write_text(json.dumps([round(seconds, 1) for seconds in took]) + "\n", encoding="utf-8")
        answer = parse_json(pathlib.Path(answer_file).read_text(encoding="utf-8"))
        if not os.path.exists(again_file):
            layout = ["--layout", answer["layout"]] if answer["layout"] else []
            limits = ["--capacity-bytes", answer["capacity_bytes"], *layout]
            self.call("run", advised, "--system", system, *limits, "--json", again_file, "--no-unlimited-run")
        again = parse_json(pathlib.Path(again_file).read_text(encoding="utf-8"))
        return answer, parse_json(pathlib.Path(took_file).read_text(encoding="utf-8")), quoted_ns(again)

    def sweep(self, name, trace, system, factor):
        """Returns a row per finished point: names of policies by slot, and times."""
        spec = {"traces": trace, "systems": system, "osf": factor, "bounds": True, "hypothetical_capacity": True}
        spec["grids"] = [{}, *({slot: policy} for slot, policy in POLICIES)]
        spec_file, folder = self.path(name, "policies.json"), self.path(name, "policies")
        pathlib.Path(spec_file).write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
        database = os.path.join(folder, "results.sqlite")
        if not os.path.exists(database):
            try:
                self.call("sweep", spec_file, "-o", folder, "--seconds-per-point", SECONDS_PER_POINT)
            except ResultError:
                self.call("sweep", "collect", folder, "--partial")
                database = os.path.join(folder, "results.partial.sqlite")
        return read_points(database)


def processor_seconds():
    """Of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def quoted_ns(result):
    settled = result["settled"]
    return settled["duration_ns"] if settled else result["total_ns"]


def read_points(database):
    columns = (*SLOTS, "settled_ns", "total_ns", "bound_write_backs_ns", "capacity_bytes")
    try:
        connection = open_database(database)
        try:
            rows = connection.execute(f"SELECT {', '.join(columns)} FROM points WHERE asked = 1 ORDER BY position")
            return [dict(zip(columns, row)) for row in rows]
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ResultError(f"{database}: {error}") from error


def name_of(point, driver):
    """The policies in which the point differs from the driver's own."""
    return " + ".join(f"{slot} {point[slot]}" for slot in SLOTS if point[slot] != driver[slot])


def outcome(answer, took, again_ns, points):
    """Returns the numbers of a row of the table."""
    driver, others = points[0], points[1:]
    timed = [(point["settled_ns"] or point["total_ns"], name_of(point, driver)) for point in others]
    best_ns, best = min(timed, default=(None, ""))
    return {
        "time_ns": answer["time_ns"],
        "advised_ns": answer["best_ns"],
        "steps": len(answer["steps"]),
        "again_ns": again_ns,
        "off": again_ns / answer["best_ns"] - 1,
        "driver_ns": driver["settled_ns"] or driver["total_ns"],
        "best": best,
        "best_ns": best_ns,
        "missing": len(POLICIES) - len(others),
        "over_bound": driver["total_ns"] / driver["bound_write_backs_ns"],
        "took": took,
    }


def milliseconds(ns):
    if ns is None:
        return "–"
    return f"{ns / 1e6:,.0f}" if ns >= 1e8 else f"{ns / 1e6:.3g}"


def markdown(rows):
    head = ["program", "what it is", "system", "factor", "time (ms)", "advised (ms)", "saves", "run again"]
    head += ["best policy", "its time (ms)", "faster", "run / bound", "advise took (s)", "of processors (s)"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for (name, what, _, system, factor), found in rows:
        saves = f"{100 * (1 - found['advised_ns'] / found['time_ns']):.0f} %" if found["steps"] else "nothing found"
        known = found["best_ns"] is not None
        ahead = "–" if not known else "policy" if found["best_ns"] < 0.995 * found["advised_ns"] else "advice"
        ahead = "equal" if known and abs(found["best_ns"] / found["advised_ns"] - 1) <= 0.005 else ahead
        missing = f" ({found['missing']} did not finish)" if found["missing"] else ""
        cells = [f"`{name}`", what, system, f"{factor:g}", milliseconds(found["time_ns"]), milliseconds(found["advised_ns"]), saves]
        cells += [f"{100 * found['off']:+.1f} %", f"{found['best'] or '–'}{missing}", milliseconds(found["best_ns"]), ahead]
        cells += [f"{found['over_bound']:.1f}", *(f"{seconds:.0f}" for seconds in found["took"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(arguments=None):
    parser = parser_of("advice", __doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"default: {', '.join(row[0] for row in PROGRAMS)}")
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="keeps what the commands wrote")
    parser.add_argument("--markdown", metavar="FILE", help="also write the table there")
    parser.add_argument("--uvmsim", default="uvmsim", metavar="COMMAND", help="the command; default uvmsim")
    parser.add_argument("--workloads", default="workloads", metavar="FOLDER", help="the shipped traces; default workloads")
    given = parser.parse_args(arguments)

    def work():
        known = {row[0]: row for row in PROGRAMS}
        for name in given.programs:
            if name not in known:
                raise ResultError(f"{name}: no program of the table; allowed: {', '.join(known)}")
        study = Study(shutil.which(given.uvmsim) or given.uvmsim, given.workloads, given.output)
        rows = []
        for name in given.programs or known:
            _, _, trace, system, factor = known[name]
            os.makedirs(study.path(name), exist_ok=True)
            inputs = (name, str(study.workloads / trace), system, factor)
            rows.append((known[name], outcome(*study.advise(*inputs), study.sweep(*inputs))))
            print(f"{name}: {rows[-1][1]['took'][0]:.0f} s", file=sys.stderr)
        text = markdown(rows)
        print(text, end="")
        if given.markdown:
            with whole_file(given.markdown) as temporary:
                pathlib.Path(temporary).write_text(text, encoding="utf-8")
        return 1 if any(abs(found["off"]) > MOST_OFF for _, found in rows) else 0

    return run("advice", work)


if __name__ == "__main__":
    sys.exit(main())
