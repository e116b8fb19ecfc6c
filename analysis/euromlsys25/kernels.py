# SPDX-License-Identifier: Apache-2.0
"""Working sets of kernels (Fig. 5, E13), from profiles: RESULTS/profiles/MODEL.profile of any run of five iterations.

`run.sh` beside this file makes them.
"""

import os

import pandas

from analysis.errors import ResultError
from analysis.euromlsys25.paper import MODELS
from analysis.profiles import Profile

ITERATIONS = 5
ENDING = ".profile"


def load_kernels(folder):
    """Returns one row per kernel of the first iterations: `program`, `iteration`, `touched_bytes`, `footprint_bytes`;
    None if the folder has no profiles."""
    parts = []
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        if not name.endswith(ENDING):
            continue
        with Profile(os.path.join(folder, name)) as profile:
            program = profile.program
            if program not in MODELS:
                raise ResultError(f"{profile.path}: a profile of {profile.program}; allowed: {', '.join(MODELS)}")
            rows = profile.query(
                "SELECT iteration, working_set_bytes AS touched_bytes FROM operations"
                " WHERE kind = 'kernel' AND iteration < ? ORDER BY operation",
                [ITERATIONS],
            )
            parts.append(rows.assign(program=program, footprint_bytes=profile.result["footprint_bytes"]))
    if not parts:
        return None
    rows = pandas.concat(parts, ignore_index=True)
    return rows.assign(order=rows["program"].map(list(MODELS).index)).sort_values("order", kind="stable")
