# SPDX-License-Identifier: Apache-2.0
"""JSON of files and of commands, for all of the package: what is no JSON is a ValueError, however deep it is nested."""

import json


def parse_json(text):
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
