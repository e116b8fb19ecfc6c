# SPDX-License-Identifier: Apache-2.0
"""Makes untrusted text harmless: names end up in terminals, tables, figures and spreadsheets.

The rule is that of sim/common/plain_text.h: characters that would begin another line, move the cursor or change the
writing direction become "?".
"""

import math
import re

# Control characters (C0, DEL, C1), line and paragraph separators, marks and embeddings of the writing direction,
# invisible characters, and surrogates.
UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
LONGEST_LINE = 2000


def plain(text):
    """Returns text on one line, and any other value unchanged."""
    return UNPRINTABLE.sub("?", text) if isinstance(text, str) else text


def plain_line(text):
    """Does the same and cuts the text to a readable length."""
    text = plain(str(text))
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 3] + "..."


def plain_tree(value):
    """Returns a value of JSON with all of its texts plain."""
    if isinstance(value, dict):
        return {plain(key): plain_tree(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain_tree(one) for one in value]
    return plain(value)


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def csv_cell(value):
    """Formats a cell of CSV: a text that a spreadsheet would run as a formula gets an apostrophe in front."""
    value = plain(value)
    formula = isinstance(value, str) and value[:1] in ("=", "+", "-", "@") and not is_number(value)
    return f"'{value}" if formula else value


def csv_frame(frame):
    """Returns a table of pandas with cells fit for a CSV file."""
    texts = [name for name in frame.columns if frame[name].dtype == object]
    return frame.assign(**{name: frame[name].map(csv_cell) for name in texts}).rename(columns=csv_cell)
