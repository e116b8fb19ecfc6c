# SPDX-License-Identifier: Apache-2.0
"""Writes files beside their target and renames them, so that no half-written file appears."""

import contextlib
import os

from analysis.errors import ResultError


@contextlib.contextmanager
def whole_file(path):
    """Yields a temporary name; afterwards the file is renamed to `path`, or removed after an error."""
    temporary = f"{path}.tmp-{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from error
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def write_text(path, text):
    with whole_file(path) as temporary:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return path
