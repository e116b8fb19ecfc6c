# SPDX-License-Identifier: Apache-2.0
"""uvmsim from Python: load a trace, run it on a system with policies, write policies.

    import uvmsim
    trace = uvmsim.Trace("workloads/gpt2.uvmt")
    result = trace.run("h200-sxm-pcie5", osf=2, evict="lru")
    result["total_ns"], result.frame()

A Result is the dict that `uvmsim run --json` writes. What the user got wrong raises uvmsim.Error, with the same line as
the command prints. Policies: the classes Prefetcher, Evictor, Planner, Migrator, Router and Batcher.
"""

import html
import io
import json
import os
import sys


def _load():
    # Plug-ins (.so) take what they use of the simulator from the module, so its symbols are for all.
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | os.RTLD_GLOBAL | os.RTLD_NOW)
    try:
        from uvmsim import _uvmsim
    finally:
        sys.setdlopenflags(flags)
    return _uvmsim


_uvmsim = _load()

__version__ = _uvmsim.__version__
Error, ModelError = _uvmsim.Error, _uvmsim.ModelError
integer, real, boolean, choice = _uvmsim.integer, _uvmsim.real, _uvmsim.boolean, _uvmsim.choice
text, path = _uvmsim.text, _uvmsim.path
policies, load_plugin = _uvmsim.policies, _uvmsim.load_plugin

from uvmsim.policy import Batcher, Evictor, Migrator, Planner, Prefetcher, Router, check_policy, register  # noqa: E402

__all__ = [
    "Batcher", "Error", "Evictor", "Migrator", "ModelError", "Planner", "Prefetcher", "Result", "Router", "Trace", "boolean", "check_policy", "choice",
    "integer", "load_plugin", "path", "policies", "real", "register", "run", "text",
]  # fmt: skip


class Result(dict):
    """The object that `uvmsim run --json` writes (sim/report/README.md lists its keys)."""

    def __init__(self, ran):
        super().__init__(json.loads(ran.json))
        self.json, self.csv = ran.json, ran.csv  # as the command writes them

    def frame(self):
        """A pandas.DataFrame: a row per iteration and one for the whole run, the columns of `uvmsim run --csv`."""
        import pandas

        return pandas.read_csv(io.StringIO(self.csv))

    def _repr_html_(self):
        """What notebooks show: the main numbers, what they are of, and the command that makes them again."""
        return _html_of(self)


def _html_of(result):
    settled, counters = result["settled"], (result["settled"] or result)["counters"]

    def moved(direction):
        return sum(value for name, value in counters.items() if name.startswith(direction) and name.endswith("_bytes"))

    if settled is None:
        period, time_ns = "the whole run", result["total_ns"]
    else:
        first, last, time_ns = settled["first_index"], settled["index"], settled["duration_ns"]
        period = f"iteration {last}" if first == last else f"iterations {first} to {last}, mean"
        period += f", settled after {settled['learning_iterations']}" if settled["is_settled"] else ", not settled"
    policies = ", ".join(used["name"] for used in result["policies"].values())
    osf, gib = result["osf_thousandths"] / 1000, 1 << 30
    rows = [
        ("time", f"{time_ns / 1e6:,.3f} ms"),
        ("GPU memory", f"{result['capacity_bytes'] / gib:,.3f} GiB for {result['footprint_bytes'] / gib:,.3f} GiB (OSF {osf:g})"),
        ("fault batches", f"{counters['fault_batches']:,}"),
        ("moved", f"{moved('htod_') / gib:,.3f} GiB to the GPU, {moved('dtoh_') / gib:,.3f} GiB to the host"),
        ("evictions", f"{counters['evictions']:,}"),
    ]  # fmt: skip
    if result["unlimited"]:
        slowdown = result["unlimited"]["slowdown_thousandths"] / 1000
        rows.insert(1, ("slowdown", f"{slowdown:,.3f} against the driver's policies without limit"))
    if "bounds" in result:
        over = result["bounds"]["distance"]["over_bound_thousandths"] / 1000
        rows.append(("whole run", f"{over:,.3f} times the best lower bound"))
    title = f"{result['trace']['file']} on {result['system']['name']}, {policies}, layout {result['layout']}, seed {result['seed']}"
    cells = "".join(f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{html.escape(text)}</td></tr>" for name, text in rows)
    return (
        f"<table><caption style='text-align:left'><b>{html.escape(title)}</b><br>{html.escape(period)}</caption>"
        f"<tbody>{cells}</tbody></table><details><summary>again</summary><code>{html.escape(result['command'])}</code></details>"
    )


def _text(value):
    return "" if value is None else str(value)


def _texts(values):
    if values is None:
        return []
    return [str(value) for value in values] if isinstance(values, (list, tuple)) else [str(values)]


def _policy(value):
    """A text such as "tree:threshold=75", a policy's class, or a class with parameters: (Mine, {"threshold": 75})."""
    parameters = {}
    if isinstance(value, tuple):
        value, parameters = value
    name = register(value) if isinstance(value, type) else str(value)
    texts = [f"{key}={str(one).lower() if isinstance(one, bool) else one}" for key, one in parameters.items()]
    return f"{name}:{','.join(texts)}" if texts else name


class Trace(_uvmsim.Trace):
    """A recorded program, read once however often it runs. Trace(path, partial=False)."""

    def run(self, system, *, osf=None, capacity_bytes=None, footprint=None, footprint_bytes=None, layout="recorded",
            settings=None, plugins=None, seed=1, iterations=None, time_scale="auto", recorded_on=None, host_gaps=True, bounds=False,
            unlimited_run=True, hypothetical_capacity=False, **policies):  # fmt: skip
        """Runs it as `uvmsim run` does, with options of the same names; a Result, or a list of them for a list `osf`.

        `settings` is a dict or a list of "key=value". Policies by slot (prefetch=, evict=, ...): a text such as
        "tree:threshold=75", a class of yours, or (class, parameters).
        """
        choices = _uvmsim.Choices()
        choices.system = str(system)
        choices.layout = str(layout)
        choices.osf = _texts(osf)
        choices.footprint = _text(footprint)
        choices.capacity_bytes, choices.footprint_bytes = _text(capacity_bytes), _text(footprint_bytes)
        if isinstance(settings, dict):
            settings = [f"{key}={str(one).lower() if isinstance(one, bool) else one}" for key, one in settings.items()]
        choices.settings, choices.plugins = _texts(settings), _texts(plugins)
        choices.seed, choices.iterations, choices.time_scale = str(seed), _text(iterations), str(time_scale)
        choices.recorded_on = _text(recorded_on)
        choices.host_gaps, choices.bounds, choices.unlimited_run = host_gaps, bounds, unlimited_run
        choices.hypothetical_capacity = hypothetical_capacity
        choices.policies = [(slot, _policy(value)) for slot, value in policies.items()]
        results = [Result(ran) for ran in self._run(choices)]
        return results if isinstance(osf, (list, tuple)) else results[0]


def run(trace, system, **options):
    """Trace(trace).run(system, ...)"""
    return Trace(str(trace)).run(system, **options)
