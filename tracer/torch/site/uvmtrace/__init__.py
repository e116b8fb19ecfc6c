# SPDX-License-Identifier: Apache-2.0
"""Functions by which a program can describe itself to the tracer. Without the tracer every call does nothing.

A program that also runs without the tracer writes

    try:
        import uvmtrace
    except ImportError:
        uvmtrace = None
"""

from contextlib import contextmanager

from uvmtrace import _iterations, _library

__all__ = ["flush", "iteration", "range"]


def iteration():
    """Begins a new iteration and ends the previous one. From the first call on, optimizer steps no longer mark
    iterations."""
    _iterations.begin_explicitly()


@contextmanager
def range(name):
    """Work that is launched inside belongs to the range `name`; ranges nest."""
    calls = _library.calls()
    calls.range_push(name)
    try:
        yield
    finally:
        calls.range_pop()


def flush():
    """Writes everything recorded so far to the log, for programs that end without running exit handlers."""
    _library.calls().flush()
