# SPDX-License-Identifier: Apache-2.0
"""Files are written beside their names, then renamed: never half there."""

import contextlib
import os

from analysis.errors import ResultError


@contextlib.contextmanager
def whole_file(path):
    """Gives the name to write to; afterwards the file stands at `path`, or, after an error, nothing new does."""
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
