# SPDX-License-Identifier: Apache-2.0
"""Marks iterations: by the program's calls of uvmtrace.iteration(), or otherwise by its optimizer steps.

By optimizer steps, iteration 0 begins with the first forward pass, every iteration ends with a step, and the next
begins with the next tensor that the program allocates (usually its inputs) or the next forward pass, whichever comes
first.
"""

from uvmtrace import _allocator, _compiler, _library


class _State:
    explicit = False
    is_open = False
    armed = True  # an iteration begins at the next forward pass
    armed_at_allocation = False
    index = 0


_state = _State()


def begin_explicitly():
    state = _state
    if not state.explicit:
        state.explicit = True
        _settle()
        state.armed = False
    if state.is_open:
        _end()
    _begin()


def forward_pass_begins():
    """Called for a module that is not inside another one."""
    if _state.armed and not _state.explicit:
        _settle()
        if not _state.is_open:
            _begin()


def _step_ends(*_):
    state = _state
    if state.explicit:
        return
    _settle()
    if not state.is_open:
        _begin()
    _end()
    state.armed = True
    state.armed_at_allocation = _allocator.begin_iteration_at_next_allocation(state.index)


def _settle():
    """Finds out whether an allocation has begun the iteration meanwhile; from here on only Python code may begin it."""
    state = _state
    if state.armed_at_allocation:
        state.armed_at_allocation = False
        if not _allocator.still_waits_for_allocation():
            state.is_open = True
            state.armed = False


def _begin():
    _library.calls().iteration(_state.index, 1)
    _state.is_open = True
    _state.armed = False


def _end():
    _library.calls().iteration(_state.index, 0)
    _state.is_open = False
    _state.index += 1


def finish():
    """Does not end an iteration that is open: the program's work at its end is not part of it (uvmtrace merge)."""
    _settle()


def install(torch, calls):
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(_compiler.outside(torch, _step_ends))
