# SPDX-License-Identifier: Apache-2.0
"""Keeps the helper out of torch.compile's way.

The compiler evaluates every Python frame of a compiled region itself. It would trace frames of the helper among
them, break the graph, and compile it again for each module that it sees. So the helper's functions do nothing while
a graph is traced, their frames are left to Python, and the functions that they call run with the compiler switched
off.
"""


def _frames(torch):
    """Returns the compiler's native part; None in versions without a compiler."""
    return getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def is_compiling(torch):
    """Returns the function that tells whether a graph is being traced; it is a constant for the compiler itself."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def leave_to_python(torch, function):
    """Makes the compiler skip the function's frame; functions that it calls are compiled as usual."""
    frames = _frames(torch)
    if hasattr(frames, "skip_code"):
        frames.skip_code(function.__code__)
    elif hasattr(frames, "set_code_exec_strategy"):
        action = frames._FrameAction
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(action.SKIP, action.DEFAULT))


def outside(torch, function):
    """Returns `function` in a form that compiled regions may call; its result is None while a graph is traced."""
    compiling = is_compiling(torch)
    set_callback = getattr(_frames(torch), "set_eval_frame", None)

    def run(*arguments):
        if compiling():
            return None
        if set_callback is None:
            return function(*arguments)
        before = set_callback(None)
        try:
            return function(*arguments)
        finally:
            set_callback(before)

    leave_to_python(torch, run)
    return run
