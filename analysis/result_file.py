# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON files that the commands write, each with a schema of its own."""


from analysis.errors import ResultError
from analysis.json_text import parse_json
from analysis.plain_text import plain_tree


def read_result(path, schema, source):
    """Returns the JSON object in a file, which must name that schema; `source` names the command that writes such
    files. Raises ResultError."""
    try:
        with open(path, encoding="utf-8") as file:
            result = plain_tree(parse_json(file.read()))
    except OSError as error:
        raise ResultError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise ResultError(f"{path}: not JSON: {error}") from error
    found = result.get("schema") if isinstance(result, dict) else None
    if found != schema:
        raise ResultError(f"{path}: schema {found!r}; allowed: {schema!r}, {source}")
    return result
