# SPDX-License-Identifier: Apache-2.0
"""uvmsim from Python: load a trace, run it on a system with policies, write policies.

    import uvmsim
    trace = uvmsim.Trace("workloads/gpt2.uvmt")
    result = trace.run("h200-sxm-pcie5", osf=2, evict="lru")
    result["total_ns"], result.frame()

A Result is the dict that `uvmsim run --json` writes. Mistakes of the user raise uvmsim.Error, with the line that the
command would print. Policies: the classes Prefetcher, Evictor, Planner, Migrator, Router and Batcher.
"""

import os
import sys


def _load():
    # Plug-ins (.so) use symbols of the module, so its symbols must be global.
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
policies, load_plugin, systems = _uvmsim.policies, _uvmsim.load_plugin, _uvmsim.systems

from uvmsim.policy import Batcher, Evictor, Migrator, Planner, Prefetcher, Router, check_policy, register  # noqa: E402
from uvmsim.result import Result  # noqa: E402

__all__ = [
    "Batcher", "Error", "Evictor", "Migrator", "ModelError", "Planner", "Prefetcher", "Result", "Router", "Trace", "advise", "boolean", "check_policy", "choice",
    "fit", "integer", "league", "load_plugin", "path", "policies", "real", "register", "run", "sweep", "systems", "text",
]  # fmt: skip


def _text(value):
    return "" if value is None else str(value)


def _is_several(value):
    """Returns whether a value is a sequence other than a text: a list, a range, an array of numpy."""
    return hasattr(value, "__iter__") and not isinstance(value, (str, bytes, os.PathLike))


def _texts(values):
    if values is None:
        return []
    return [str(value) for value in values] if _is_several(values) else [str(values)]


def _factor(value):
    """Returns the text of a factor. A computed number, such as 1 / 3 or a number of numpy, is rounded to
    thousandths."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return str(value) if isinstance(value, str) else f"{number:.3f}".rstrip("0").rstrip(".")


def _path(what, value):
    """Text of a file's name. Raises Error for anything else."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise Error(f"{what}: {value!r:.100} is no path; allowed: a text or a path object")
    return value


def _flag(what, value):
    """True or False, numpy's too. Raises Error for anything else."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise Error(f"{what}: {value!r:.100}; allowed: True or False")
    return bool(value)


def _policy(value):
    """Accepts a text such as "tree:threshold=75", a policy's class, or a class with parameters: (Mine, {"threshold":
    75})."""
    parameters = {}
    if isinstance(value, tuple):
        if len(value) != 2 or not isinstance(value[1], dict):
            raise Error(f"a policy {value!r:.100}; allowed: a text, a class, or (class or text, dict of parameters)")
        value, parameters = value
    name = register(value) if isinstance(value, type) else str(value)
    texts = [f"{key}={str(one).lower() if isinstance(one, bool) else one}" for key, one in parameters.items()]
    return f"{name}:{','.join(texts)}" if texts else name


class Trace(_uvmsim.Trace):
    """A recorded program, read once however often it runs. Trace(path, partial=False)."""

    def __init__(self, path, partial=False):
        super().__init__(_path("trace", path), _flag("partial", partial))

    def run(self, system, *, osf=None, capacity_bytes=None, footprint=None, footprint_bytes=None, layout="recorded",
            settings=None, plugins=None, seed=1, seeds=None, iterations=None, until_settled=False, time_scale="auto",
            recorded_on=None, host_gaps=True, bounds=False, unlimited_run=True, hypothetical_capacity=False,
            timeline=None, profile=None, **policies):  # fmt: skip
        """Runs it as `uvmsim run` does, with options of the same names. Returns a Result, or a list of them if `osf` is
        a sequence (numbers, texts, an array) or `seeds` is given: factor after factor, each with all seeds.

        `timeline` and `profile` are files that one run writes. `settings` is a dict or a list of "key=value". Policies
        by slot (prefetch=, evict=, ...): a text such as "tree:threshold=75", your own class, or (class, parameters).
        """
        choices = _uvmsim.Choices()
        choices.system = str(system)
        choices.layout = str(layout)
        choices.osf = [_factor(one) for one in (osf if _is_several(osf) else [osf])] if osf is not None else []
        if osf is not None and not choices.osf:
            raise Error("osf: there is no factor in it; allowed: at least one, or None for the GPU's own memory")
        choices.footprint = _text(footprint)
        choices.capacity_bytes, choices.footprint_bytes = _text(capacity_bytes), _text(footprint_bytes)
        if isinstance(settings, dict):
            settings = [f"{key}={str(one).lower() if isinstance(one, bool) else one}" for key, one in settings.items()]
        choices.settings, choices.plugins = _texts(settings), _texts(plugins)
        choices.seeds, choices.until_settled = _text(seeds), _flag("until_settled", until_settled)
        choices.timeline, choices.profile = _text(timeline), _text(profile)
        choices.seed, choices.iterations, choices.time_scale = str(seed), _text(iterations), str(time_scale)
        choices.recorded_on = _text(recorded_on)
        choices.host_gaps, choices.bounds = _flag("host_gaps", host_gaps), _flag("bounds", bounds)
        choices.unlimited_run = _flag("unlimited_run", unlimited_run)
        choices.hypothetical_capacity = _flag("hypothetical_capacity", hypothetical_capacity)
        choices.policies = [(slot, _policy(value)) for slot, value in policies.items()]
        results = [Result(ran) for ran in self._run(choices)]
        return results if _is_several(osf) or seeds is not None else results[0]

    def __repr__(self):
        return f"<Trace: {self.path}>"


def run(trace, system, **options):
    """Trace(trace).run(system, ...)"""
    return Trace(trace).run(system, **options)


from uvmsim.studies import advise, fit, league, sweep  # noqa: E402
