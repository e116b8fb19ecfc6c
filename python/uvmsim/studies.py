# SPDX-License-Identifier: Apache-2.0
"""Studies of many runs: sweeps and machines through the command, and leagues that policies in Python can join.

    table = uvmsim.sweep({"traces": "gpt2.uvmt", "systems": "h200-sxm-pcie5", "osf": [1, 1.5, 2]}, "results/gpt2")
    table = uvmsim.fit("gpt2.uvmt", ["rtx4090-pcie4", "a100-pcie-80g"], budget=1.5)
    table = uvmsim.advise("gpt2.uvmt", "a100-pcie-80g", osf=1.5)
    table = uvmsim.league(["gpt2.uvmt"], "h200-sxm-pcie5", osf=1.5, join=[Mine])
"""

import json
import math
import os
import shutil
import subprocess
import tempfile

import uvmsim
from uvmsim.result import main_columns


def command():
    """Returns the program `uvmsim` of the wheel, of the build folder that contains the module, or in PATH."""
    package = os.path.dirname(os.path.abspath(uvmsim._uvmsim.__file__))
    for path in (os.path.join(package, "bin", "uvmsim"), os.path.join(package, "..", "..", "bin", "uvmsim")):
        if os.access(path, os.X_OK):
            return os.path.normpath(path)
    found = shutil.which("uvmsim")
    if found is None:
        raise uvmsim.Error("the program uvmsim is not there; allowed: in PATH, or a build of it beside the module")
    return found


def _output_of(*arguments):
    """Returns the command's output. Raises uvmsim.Error with its error line."""
    done = subprocess.run([command(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise uvmsim.Error(lines[-1].removeprefix("uvmsim: error: "))
    return done.stdout


def sweep(spec, output, *, jobs=None, seconds_per_point=None, everything=False):
    """Runs `uvmsim sweep SPEC -o OUTPUT`, on all cores, and continues an earlier run. Returns a pandas.DataFrame with a
    row per iteration and one per run, the main columns or `everything` of OUTPUT/results.csv.

    `spec` is the file's path, or its content as a dict with paths relative to the current folder. Raises uvmsim.Error
    with the command's line; if points fail, it names the folder with the reasons. Policies in Python run in one process
    and cannot take part: uvmsim.league(), Trace.run().
    """
    import pandas

    options = ["-o", uvmsim._path("output", output)]
    for name, value in (("--jobs", jobs), ("--seconds-per-point", seconds_per_point)):
        options += [] if value is None else [name, str(value)]
    with tempfile.NamedTemporaryFile("w", suffix=".json", dir=".", prefix=".sweep-") as file:
        if isinstance(spec, dict):
            try:
                json.dump(spec, file, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise uvmsim.Error(f"sweep: the dict is no JSON: {error}") from None
            file.flush()
            spec = file.name
        _output_of("sweep", uvmsim._path("sweep", spec), *options)
    table = pandas.read_csv(os.path.join(output, "results.csv"))
    return table if everything else main_columns(table)


def fit(trace, systems, *, budget=2, layout=None, settings=()):
    """Finds the machines that hold a program, the slowdown on the others, and the factor where it becomes too slow:
    `uvmsim fit TRACE`.

    `trace` is a file's path, `systems` names or files, `budget` the largest acceptable slowdown. Returns a
    pandas.DataFrame with a row per machine, times in nanoseconds, factors and slowdowns as numbers; `link_x2` and
    `memory_x2` are the slowdowns with only that changed, NaN if the program fits. Raises uvmsim.Error with the
    command's line.
    """
    import pandas

    names = [systems] if isinstance(systems, str) else [str(one) for one in systems] if uvmsim._is_several(systems) else []
    if not names:
        raise uvmsim.Error(f"systems: {systems!r:.100}; allowed: a name or a list of names")
    try:
        largest = f"{float(budget):.3f}"
    except (TypeError, ValueError):
        raise uvmsim.Error(f"budget: {budget!r:.100} is no number") from None
    options = ["--gpus", ",".join(names), "--budget", largest]
    options += [] if layout is None else ["--layout", layout]
    options += [word for setting in settings for word in ("--set", setting)]
    answer = _output_of("fit", uvmsim._path("trace", trace), *options, "--json", "-")
    rows = []
    for machine in json.loads(answer)["machines"]:
        changes = {change["what"].replace(" ", "_"): change["slowdown_thousandths"] / 1000 for change in machine.pop("changes")}
        row = {key.removesuffix("_thousandths"): value / 1000 if key.endswith("_thousandths") else value for key, value in machine.items()}
        rows.append(row | {"link_x2": math.nan, "memory_x2": math.nan} | changes)
    return pandas.DataFrame(rows)


def advise(trace, system, *, osf=None, capacity_bytes=None, output=None, layout=None, settings=()):
    """Suggests changes to a program that leave its kernels alone: `uvmsim advise TRACE`.

    One of `osf` and `capacity_bytes` limits the GPU's memory; the program with the changes is written to `output`, a
    .uvmt file. Returns a pandas.DataFrame with a row per recommended step, in the order in which to make them, empty
    if nothing helps; the rest of the answer (`uvmsim.advise/1`) is in its `attrs`. Raises uvmsim.Error with the
    command's line.
    """
    import pandas

    options = ["--system", system]
    options += [] if osf is None else ["--osf", f"{osf:.3f}"]
    options += [] if capacity_bytes is None else ["--capacity-bytes", str(capacity_bytes)]
    options += [] if output is None else ["--output", os.fspath(output)]
    options += [] if layout is None else ["--layout", layout]
    options += [word for setting in settings for word in ("--set", setting)]
    answer = json.loads(_output_of("advise", os.fspath(trace), *options, "--json", "-"))
    columns = ["change", "time_ns", "saves", "fastest", "slowest", "confidence", "is_settled", "alone_ns", "cuda", "pytorch"]
    rows = [{key.removesuffix("_thousandths"): value / 1000 if key.endswith("_thousandths") else value for key, value in step.items()}
            for step in answer.pop("steps")]  # fmt: skip
    table = pandas.DataFrame(rows, columns=columns)
    table.attrs = answer
    return table


def _entrants(join, against):
    """Returns [(name, {slot: choice})], the driver's own policies first."""
    entrants = [("driver", {})]
    if against is None:
        for one in uvmsim.policies():
            # Policies for several GPUs or several programs have no effect here, and those in Python take part through
            # `join`.
            wanted = one["origin"] != "Python" and one["slot"] == one["slots"][0]
            if wanted and one["slot"] not in ("route", "schedule") and not one["for_processes"]:
                entrants.append((f"{one['slot']} {one['name']}", {slot: one["name"] for slot in one["slots"]}))
    else:
        entrants += [(" + ".join(f"{slot} {name}" for slot, name in one.items()), dict(one)) for one in against]
    for one in join:
        policy, parameters = one if isinstance(one, tuple) else (one, {})
        name = uvmsim.register(policy) + "".join(f" {key}={value}" for key, value in parameters.items())
        entrants.append((f"{policy.slot} {name}", {policy.slot: one}))
    return entrants


def _time_of(result):
    return result["settled"]["duration_ns"] if result["settled"] else result["total_ns"]


def _geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def league(traces, system, *, osf, join=(), against=None, **options):
    """Ranks policies, as `uvmsim league` does: each runs every trace at every factor, with the driver's own in the
    other slots. Returns a pandas.DataFrame, the best policy first: the geometric mean of its times over the driver's,
    the best and the worst ratio, and whether all its runs have settled.

    `join` holds your own classes, or (class, parameters). `against` holds their opponents, such as [{"evict": "lru"}];
    the default is every built-in, which takes minutes. All run one after the other in this process, because policies in
    Python are called for every fault; the command runs policies in C++ on all cores. `options` are those of Trace.run.
    """
    import pandas

    traces = [one if isinstance(one, uvmsim.Trace) else uvmsim.Trace(os.fspath(one))
              for one in ([traces] if isinstance(traces, (str, os.PathLike, uvmsim.Trace)) else traces)]  # fmt: skip
    factors = list(osf) if hasattr(osf, "__iter__") and not isinstance(osf, str) else [osf]
    rows, driver = [], None
    for name, policies in _entrants(join, against):
        results = [one for trace in traces for one in trace.run(system, osf=factors, **policies, **options)]
        times = [_time_of(one) for one in results]
        driver = driver or times
        quotients = [time / of_driver for time, of_driver in zip(times, driver, strict=True)]
        rows.append({
            "entrant": name,
            "information_class": max(used["information_class"] for one in results for used in one["policies"].values()),
            "over_driver": _geometric_mean(quotients),
            "best": min(quotients),
            "worst": max(quotients),
            "contests": len(quotients),
            "settled": all(one["settled"] is None or one["settled"]["is_settled"] for one in results),
        })  # fmt: skip
    return pandas.DataFrame(rows).sort_values(["over_driver", "entrant"], ignore_index=True)
