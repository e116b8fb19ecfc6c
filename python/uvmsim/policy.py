# SPDX-License-Identifier: Apache-2.0
"""Policies in Python. sim/policy/policy.h documents when each method is called and what it may return.

    class NextUnit(uvmsim.Prefetcher):
        '''the faulted 64 KB unit and the next one'''

        parameters = [uvmsim.integer("units", 1, (1, 31), "how many more units, each 64 KB")]

        def prefetch(self, block):
            ...  # an int: bit p for page p of the 2 MB block

    trace.run("h200-sxm-pcie5", osf=2, prefetch=NextUnit)

Only methods that a class defines are called; an undefined `on_touched` costs nothing.
"""

import difflib
import re

from uvmsim import _uvmsim

PAGES_PER_BLOCK = 512
PAGES_PER_UNIT = 16  # 64 KB


def snake_case(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Policy:
    """The common part of the slots. A class may set these attributes; `parameters` are made by integer(), real(),
    boolean(), choice(), text(), path(). A policy of any slot may also have on_faults(batch), on_kernel_start(kernel)
    (D3), on_prefetch_used(block, pages) and on_prefetch_wasted(block, pages) (D2), and state(), which returns bytes
    that cover everything that later answers depend on, so that recurring iterations need not be replayed."""

    slot = None
    needed = ()  # methods of the slot, at least one of which a class must have
    hooks = {}  # other methods, with the lowest information class for which each is called
    name = None  # default: the class's name in lower case, NextUnit is next_unit
    source = "written in Python"
    information_class = "D0"  # D2: sees which chunks kernels touch; D4: knows the future
    decision_cost_ns = 0
    parameters = ()

    def __init__(self, context):
        """`context` has parameters (a dict), random, chunk_count and chunk_bytes of the GPU that the instance serves,
        and future: None except for class D4, which gets a Future (contents are pieces of chunk_bytes for an evictor, of
        64 KB for a prefetcher, of 2 MB for a migrator or router), or for a planner a KernelFuture."""
        self.context = context

    def __getattr__(self, name):
        # Called only if no other attribute has the name.
        context = self.__dict__.get("context")
        if context is not None and name in context.parameters:
            return context.parameters[name]
        raise AttributeError(f"{type(self).__name__} has no attribute or parameter '{name}'")


class Prefetcher(Policy):
    """Chooses pages to fetch with the faulting ones: prefetch(block), and prefetch_beyond(block, queries),
    on_evicted(block, pages, touched), on_freed(block)."""

    slot = "prefetch"
    needed = ("prefetch",)
    hooks = {"on_evicted": "D0", "on_freed": "D0"}


class Evictor(Policy):
    """Chooses chunks to evict: select_victim(queries), and select_early_victim(queries), on_allocated(chunk, content),
    on_migrated(chunk), on_emptied(chunk), on_discarded(chunk), on_released(chunk), on_freed(content),
    on_touched(chunk)."""

    slot = "evict"
    needed = ("select_victim",)
    hooks = {"on_allocated": "D0", "on_migrated": "D0", "on_emptied": "D0", "on_discarded": "D0",
             "on_released": "D0", "on_freed": "D0", "on_touched": "D2"}  # fmt: skip


class Planner(Policy):
    """Moves memory before kernels need it: next(queries) and victim(queries) return None, ("prefetch", block, pages),
    ("evict", block) or ("drop", block), each optionally followed by a latency in ns, or ("wait", ns);
    on_launched(kernel), on_begin(kernel), on_end(number), on_faulted(block, pages), on_migrated(block),
    on_released(block)."""

    slot = "plan"
    needed = ("next",)
    hooks = {"on_launched": "D3", "on_begin": "D3", "on_end": "D3", "on_faulted": "D0", "on_migrated": "D0",
             "on_released": "D0"}  # fmt: skip
    information_class = "D3"


class Migrator(Policy):
    """Chooses faulting pages that are remote-mapped on the host: rest(faulted) returns an int, or two (all
    remote-mapped pages, and the writable ones), and fetch(accesses), on_evicted(block, pages), on_migrated(block,
    pages), on_kernel(), on_freed(block)."""

    slot = "migrate"
    needed = ("rest",)
    hooks = {"fetch": "D1", "on_evicted": "D0", "on_migrated": "D0", "on_kernel": "D3", "on_freed": "D0"}


class Router(Policy):
    """Chooses the links for moves between several GPUs and the host: route(move, queries) returns None (direct),
    "host", ("gpu", number), ("spare", number), ("striped", weight, {number: weight}) or "later"; on_kernels(gpu,
    running)."""

    slot = "route"
    needed = ("route",)
    hooks = {"on_kernels": "D3"}


class Batcher(Policy):
    """Chooses the faults that the driver's fault thread takes at a time: shape(moment) returns None or (faults, delay
    in ns), arrange(batch) the blocks to serve first, running_sms(batch) None or the number of SMs to resume."""

    slot = "batch"
    needed = ("shape", "arrange", "running_sms")


SLOTS = (Prefetcher, Evictor, Planner, Migrator, Router, Batcher)
# For every slot: sim/policy/features.h.
FEATURES = {"on_faults": "D0", "on_kernel_start": "D3", "on_prefetch_used": "D2", "on_prefetch_wasted": "D2"}


def check_hooks(policy):
    """Refuses methods that would never be called: unknown names, and methods above the declared class."""
    hooks = policy.hooks | FEATURES
    for name in dir(policy):
        if name.startswith("on_") and name not in hooks:
            near = difflib.get_close_matches(name, hooks, 1)
            hint = f", did you mean {near[0]}()?" if near else ""
            raise TypeError(f"{policy.__name__} has {name}(), which is never called{hint}; allowed: {', '.join(hooks)}")
    for name, least in hooks.items():
        if hasattr(policy, name) and policy.information_class < least:
            raise TypeError(f"{policy.__name__} has {name}(), which is called for class {least} and up, and declares "
                            f"class {policy.information_class}; allowed: information_class = \"{least}\", or no {name}()"
                            )  # fmt: skip


def register(policy):
    """Registers a class under its name, which it returns; an earlier class of the same name is replaced."""
    if not issubclass(policy, SLOTS):
        allowed = ", ".join(f"uvmsim.{slot.__name__}" for slot in SLOTS)
        raise TypeError(f"{policy.__name__} is no policy; allowed: subclasses of {allowed}")
    if not any(hasattr(policy, name) for name in policy.needed):
        names = " or ".join(", ".join(f"{name}()" for name in policy.needed).rsplit(", ", 1))
        raise TypeError(f"{policy.__name__} has no method {names}")
    check_hooks(policy)
    name = policy.name or snake_case(policy.__name__)
    description = (policy.__doc__ or "a policy in Python").strip().splitlines()[0]
    _uvmsim.register_policy(policy.slot, name, description, policy.source, policy.information_class,
                            policy.decision_cost_ns, list(policy.parameters), policy)  # fmt: skip
    return name


def check_policy(policy, seed=1):
    """Returns the verdicts of `uvmsim check-policy` about a class: a list of (check, passed, text)."""
    return _uvmsim.check_policy(policy.slot, register(policy), seed)
