# SPDX-License-Identifier: Apache-2.0
_queued = []
_initialized = False
synchronized = 0


def _lazy_call(call):
    if _initialized:
        call()
    else:
        _queued.append(call)


def init():
    global _initialized
    _initialized = True
    for call in _queued:
        call()


def is_initialized():
    return _initialized


def synchronize():
    global synchronized
    synchronized += 1
