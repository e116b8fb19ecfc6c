# SPDX-License-Identifier: Apache-2.0
"""Parses JSON of files and of commands. Invalid JSON is a ValueError, however deeply it is nested.

NaN, Infinity and numbers beyond the range that uvmsim writes are refused.
"""

import json
import math

MOST_DIGITS = 20  # of an integer, as 2^64 has


def _integer(text):
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits; allowed: {MOST_DIGITS}")
    return int(text)


def _real(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:24]} is too large")
    return value


def _no_number(text):
    raise ValueError(f"{text} is no number")


def parse_json(text):
    try:
        return json.loads(text, parse_int=_integer, parse_float=_real, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
