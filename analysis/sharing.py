# SPDX-License-Identifier: Apache-2.0
"""Programs that share one GPU, under five policies: slowdowns, fairness, and who evicts whom.

    python3 -m analysis.sharing configs/scenarios/shared_*.json [-o FIGURE] [--markdown FILE]

Runs every scenario once per policy; each program's slowdown is against itself alone on the same memory under the driver's own policies,
so that a policy is not compared with what it makes of a program alone. The first program of a scenario is the one that policies favour.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.files import whole_file
from analysis.json_text import parse_json
from analysis.style import arrange, bar_look, grid_of, legend_of, load_pyplot, ratio_scale, save_figure

STOCK = "stock"
# name: changes of the scenario
POLICIES = {
    STOCK: {},
    "quota 50:50": {"evict": "quota:0=50,1=50"},
    "memory first": {"evict": "priority:0=1"},
    "memory and turns first": {"evict": "priority:0=1", "schedule": "priority:0=1"},
    "concurrent kernels": {"sharing": "concurrent"},
}


def with_whole_paths(content, folder):
    """Returns the scenario with paths that do not depend on the folder."""
    system = content.get("system", "")
    return {
        **content,
        **({"system": str(folder / system)} if "/" in system else {}),
        **({"plugins": [str(folder / plugin) for plugin in content["plugins"]]} if "plugins" in content else {}),
        "programs": [dict(program, trace=str(folder / program.get("trace", ""))) for program in content["programs"]],
    }


def call(uvmsim, content, folder, alone):
    """Returns the output of `uvmsim scenario` for this content, whose paths are relative to the folder."""
    with tempfile.TemporaryDirectory() as temporary:
        source = pathlib.Path(temporary) / "scenario.json"
        source.write_text(json.dumps(with_whole_paths(content, folder)), encoding="utf-8")
        command = [uvmsim, "scenario", str(source), "--json", "-"] + ([] if alone else ["--no-alone"])
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise ResultError(f"{uvmsim}: {error.strerror}") from error
    if done.returncode != 0:
        raise ResultError(done.stderr.strip().replace(str(source), "the scenario") or f"{uvmsim} failed")
    return parse_json(done.stdout)


def under(content, policy):
    return {**content, **POLICIES[policy]}


def outcome(result, alone_ns):
    """Returns the slowdown per program, unfairness, weighted speed-up, and the matrix of evictions."""
    together = {program["name"]: program["together_ns"] for program in result["programs"]}
    slowdowns = {name: together[name] / alone_ns[name] for name in together}
    return {
        "slowdowns": slowdowns,
        "unfairness": max(slowdowns.values()) / min(slowdowns.values()),
        "speedup": sum(1 / slowdown for slowdown in slowdowns.values()),
        "evicted": {program["name"]: program["evicted_from"] for program in result["programs"]},
        "whole": any(program["compared"] == "whole run" for program in result["programs"]),
    }


def study(path, uvmsim, workers):
    """Returns the outcomes by policy, and the scenario's own description."""
    try:
        content = parse_json(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from error
    if len(content.get("programs", [])) != 2:
        raise ResultError(f"{path}: {len(content.get('programs', []))} programs; allowed: 2")
    folder = pathlib.Path(path).resolve().parent
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        results = dict(
            zip(POLICIES, pool.map(lambda policy: call(uvmsim, under(content, policy), folder, policy == STOCK), POLICIES))
        )
    alone_ns = {program["name"]: program["alone_ns"] for program in results[STOCK]["programs"]}
    missing = [name for name, time in alone_ns.items() if not time]
    if missing:
        raise ResultError(f"{path}: '{missing[0]}' did not come to the end of an iteration; give the other one more")
    return content, {policy: outcome(result, alone_ns) for policy, result in results.items()}


def markdown(studies):
    lines = []
    for path, (content, outcomes) in studies.items():
        names = [program["name"] for program in content["programs"]]
        factor = content.get("shared_osf")
        lines += [f"**`{path}`**: {content.get('description', 'two programs on one GPU')}" + (f" (`shared_osf` {factor})" if factor else ""), ""]
        head = ["policy", *(f"slowdown of {name}" for name in names), "unfairness", "weighted speed-up"]
        head += [f"evictions: {by} of {of}" for by in names for of in names]
        lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        for policy, found in outcomes.items():
            row = [policy, *(f"{found['slowdowns'][name]:.2f}" for name in names)]
            row += [f"{found['unfairness']:.2f}", f"{found['speedup']:.3f}"]
            row += [f"{found['evicted'][by][of]:,}" for by in names for of in names]
            lines.append("| " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join(lines)


def draw(studies, path):
    pyplot = load_pyplot()
    figure, axes = grid_of(pyplot, len(studies), columns=2, width=3.4, height=2.6)
    for axis, (content, outcomes) in zip(axes, studies.values()):
        names = [program["name"] for program in content["programs"]]
        for number, name in enumerate(names):
            places = [place + 0.4 * number for place in range(len(outcomes))]
            heights = [found["slowdowns"][name] for found in outcomes.values()]
            role = "first program" if number == 0 else "second program"
            axis.bar(places, heights, 0.38, label=role, **bar_look(number))
            for place, height in zip(places, heights):
                axis.annotate(f"{height:.1f}", (place, height), ha="center", va="bottom", fontsize=6)
        axis.set_xticks([place + 0.2 for place in range(len(outcomes))], [policy.replace(" ", "\n") for policy in outcomes])
        axis.tick_params(axis="x", labelsize=6)
        ratio_scale(axis, [found["slowdowns"][name] for found in outcomes.values() for name in names], threshold=8)
        axis.set_ylabel("slowdown against alone")
        axis.set_title(f"{names[0]} and {names[1]}")
    handles, texts = legend_of(axes)
    arrange(figure, "Two programs on one GPU", handles, texts)
    return save_figure(figure, path)


def main(arguments=None):
    parser = parser_of("sharing", __doc__)
    parser.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="two programs that name the same GPU")
    parser.add_argument("-o", "--output", metavar="FIGURE", help="also draw it: PNG and PDF")
    parser.add_argument("--markdown", metavar="FILE", help="also write the table there")
    parser.add_argument("--uvmsim", default="uvmsim", metavar="COMMAND", help="the command; default uvmsim")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="runs at a time; default: one per core")
    given = parser.parse_args(arguments)

    def work():
        studies = {path: study(path, given.uvmsim, max(1, given.jobs)) for path in given.scenarios}
        text = markdown(studies)
        print(text)
        if given.markdown:
            with whole_file(given.markdown) as temporary:
                pathlib.Path(temporary).write_text(text, encoding="utf-8")
        if given.output:
            for path in draw(studies, given.output):
                print(path)

    return run("sharing", work)


if __name__ == "__main__":
    sys.exit(main())
