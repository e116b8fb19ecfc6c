# SPDX-License-Identifier: Apache-2.0
"""Invented inputs for the tests of pages: their numbers do not depend on the model, so that pictures of them can be
kept.

They are the results and the profile of tests/analysis, with more points, more seeds, and hostile names.
"""

import json
import pathlib
import sqlite3
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "analysis")]

from synthetic import GB, Point, result_of  # noqa: E402
from synthetic_profile import write_profile  # noqa: E402

HOSTILE = "</script><img src=x onerror=document.title='owned'><!--\u202e &quot;\\u0000"
FACTORS = (None, 1.0, 1.25, 1.5, 2.0, 3.0)
POLICIES = (("tree", "lrm"), ("tree", "lru"), ("tree", "random"), ("none", "lrm"))


def points():
    """Returns two programs under four combinations of policies, one of which has three seeds with different results."""
    made = []
    for program, name in enumerate(("gpt2", "resnet50")):
        for number, (prefetch, evict) in enumerate(POLICIES):
            for factor in FACTORS:
                for seed in (1, 2, 3) if evict == "random" else (1,):
                    over = 0 if factor is None else max(0.0, factor - 1)
                    time = int(1e8 * (1 + over * (6 + 2 * number + 0.4 * seed * (evict == "random")) * (1 + program)))
                    bytes_in = int(over * (3 + number) * GB)
                    point = Point(name, "pytorch_caching", factor, time, 10, htod_fault_bytes=bytes_in // 4,
                                  htod_prefetch_bytes=bytes_in - bytes_in // 4, dtoh_evict_bytes=int(bytes_in * 0.8),
                                  fault_batches=int(over * 1000), evictions=int(over * 2000), kernel_ns=time,
                                  kernel_compute_ns=10**8)  # fmt: skip
                    point.prefetch, point.evict, point.seed = prefetch, evict, seed
                    point.prefetch_parameters = {"threshold": "51"} if prefetch == "tree" else {}
                    made.append(point)
    return made


def whole(result):
    """Adds the members of the command's results that those of tests/analysis leave out."""
    result["trace"].update(partial=False, program="python3 train.py")
    result["limit"].setdefault("capacity_bytes", None)
    result["limit"].setdefault("footprint_bytes", None)
    result.update(layout_parameters={}, plugins=[], slowdown_thousandths=None, slowdown_ideal_thousandths=1000, requested_iterations=None)
    for used in result["policies"].values():
        used.setdefault("parameters", {})
    if result["unlimited"]:
        base = result["unlimited"]["settled_ns"]
        result["slowdown_thousandths"] = round(1000 * result["settled"]["duration_ns"] / base)
    return result


def write_results(path, change=lambda result: None):
    made = points()
    bases = {(p.program, p.seed): p for p in made if p.osf is None and (p.prefetch, p.evict) == ("tree", "lrm")}
    with open(path, "w", encoding="utf-8") as file:
        for point in made:
            base = bases.get((point.program, 1))
            result = result_of(point)
            result["unlimited"] = {"total_ns": base.total()[0], "settled_ns": base.duration_ns}
            result = whole(result)
            change(result)
            file.write(json.dumps(result) + "\n")
    return path


def write_hostile_results(path):
    def change(result):
        result["trace"]["file"] = HOSTILE + ".uvmt"
        result["system"]["name"] = HOSTILE
        result["command"] = HOSTILE
        result["policies"]["evict"]["name"] += HOSTILE

    return write_results(path, change)


def write_whole_profile(path, name=None):
    """Writes a profile in the form of the command's; `name` is that of all kernels, layers and tensors."""
    write_profile(path)
    with sqlite3.connect(path) as connection:
        (text,) = connection.execute("SELECT result FROM run").fetchone()
        result = whole({**json.loads(text), "unlimited": None})
        result["settled"]["index"] = 1  # the profile has two iterations
        connection.execute("UPDATE run SET result = ?", (json.dumps(result),))
        # The places of tensors are within the heat map.
        connection.execute("UPDATE allocations SET address = (allocation - 1) << 21 WHERE allocation > 0")
        if name:
            connection.execute("UPDATE names SET name = ?", (name,))
            connection.execute("UPDATE layers SET path = ? WHERE layer > 0", (name,))
            connection.execute("UPDATE allocations SET name = ?", (name,))
        # For columns without a type SQLite returns the stored type; the reader requires texts.
    connection.close()
    return path
