# SPDX-License-Identifier: Apache-2.0
"""Invented results for the tests: small, complete, and such that every claim of the paper holds.

`paper_points()` is the paper's sweep as a list of `Point`; a test changes the part that it wants to violate, then
writes the points as JSON lines (`write_lines`) or as the database of a sweep (`write_database`).
"""

import json
import os
import re
import sqlite3

GB = 10**9
FACTORS = (None, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
MODELS = ("alexnet", "resnet50", "resnet101", "gpt2", "bert", "whisper")
PCA, NONE = "pytorch_caching", "none"
BATCHES = (16, 32, 48, 64, 72, 80, 88, 96)


def counter_names():
    """The names of all counters, from the one table that defines them."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "sim", "events", "counters.h"), encoding="utf-8") as file:
        text = file.read()
    names, prefix = [], ""
    for moved, plain in re.findall(r"^  (?:UVMSIM_TRANSFER_COUNTERS\(X, (\w+)|X\((\w+)), \"", text, re.MULTILINE):
        if plain == "lookups":
            prefix = "gmmu_"
        names += [f"{moved}_bytes", f"{moved}_transactions"] if moved else [prefix + plain]
    return names


COUNTERS = counter_names()


class Point:
    """One run. `counters` are those of one settled iteration; the first iteration and the whole run follow."""

    def __init__(self, program, layout="none", osf=None, duration_ns=1000000, iterations=10, **counters):
        self.program, self.layout, self.osf = program, layout, osf
        self.duration_ns, self.iterations = duration_ns, iterations
        self.counters = {name: 0 for name in COUNTERS}
        self.counters["kernel_compute_ns"] = duration_ns
        self.counters.update(counters)
        self.first_counters = {}  # differences of the first iteration's counters
        self.footprint_bytes = 10 * GB
        self.memory_bytes = 80 * GB
        self.time_scale_millionths = None
        self.given_capacity_bytes = None  # a limit in bytes instead of a factor
        self.prefetch, self.prefetch_parameters, self.evict = "tree", {"threshold": "51"}, "lrm"
        self.plan = "none"
        self.learning_iterations = 1  # None: it has not settled
        self.spread_ns = None  # the shortest and the longest of the quoted iterations; None: all are equal
        self.range = None  # of the slowdown on other machines, in thousandths
        self.hypothetical = False  # more memory than the GPU has
        self.seed = 1
        self.system, self.system_sha256 = "a100-pcie-80g", "0" * 64
        self.beside = False  # runtime.device_memory_beside
        self.asked = True  # of a sweep's grid; False: run only to compare with
        self.error = None

    @property
    def capacity_bytes(self):
        if self.given_capacity_bytes is not None:
            return self.given_capacity_bytes
        return self.memory_bytes if self.osf is None else int(self.footprint_bytes / self.osf)

    @property
    def limit(self):
        if self.given_capacity_bytes is not None:
            return "capacity"
        return "none" if self.osf is None else "osf"

    def each(self):
        """Yields (duration, counters) of every iteration."""
        first = {**self.counters, **self.first_counters}
        return [(self.duration_ns, first if index == 0 else self.counters) for index in range(self.iterations)]

    def total(self):
        if not self.iterations:
            return self.duration_ns, self.counters
        parts = self.each()
        return sum(part[0] for part in parts), {name: sum(part[1][name] for part in parts) for name in COUNTERS}


def settling_of(point):
    known = point.learning_iterations is not None
    shortest, longest = point.spread_ns or (point.duration_ns, point.duration_ns)
    return {
        "is_settled": known,
        "learning_iterations": point.learning_iterations,
        "shortest_ns": shortest,
        "longest_ns": longest,
    }


def ideal_ns(counters):
    return counters["kernel_compute_ns"]


def is_baseline(point):
    """Returns whether the point has the driver's own policies and the GPU's whole memory."""
    own = (point.prefetch, point.prefetch_parameters.get("threshold"), point.evict, point.plan)
    return point.limit == "none" and own == ("tree", "51", "lrm", "none")


def baseline_of(point, points):
    """Returns the baseline of a point's slowdown: the one among `points`, or None."""
    for other in points:
        names = ("program", "layout", "system", "seed")
        same = all(getattr(other, name) == getattr(point, name) for name in names)
        if same and is_baseline(other):
            return other
    return None


def result_of(point, points=()):
    baseline = baseline_of(point, points)
    total_ns, counters = point.total()
    iterations = [
        {
            "index": index,
            "begin_ns": index * duration,
            "end_ns": (index + 1) * duration,
            "duration_ns": duration,
            "ideal_ns": ideal_ns(values),
            "counters": values,
        }
        for index, (duration, values) in enumerate(point.each())
    ]
    thousandths = None if point.osf is None else round(1000 * point.osf)
    return {
        "schema": "uvmsim.result/3",
        "uvmsim_version": "0.1.0",
        "uvmsim_commit": "0123456789ab",
        "model_version": "m" * 64,
        "command": f"uvmsim run {point.program}.uvmt",
        "system_sha256": point.system_sha256,
        "trace": {"file": point.program + ".uvmt", "sha256": point.program.encode().hex().ljust(64, "0")},
        "layout": point.layout,
        "limit": {"by": point.limit, "osf_thousandths": thousandths},
        "seed": point.seed,
        "include_host_gaps": True,
        "time_scale": {"rule": "roofline", "factor_millionths": point.time_scale_millionths},
        "policies": {
            "prefetch": {"name": point.prefetch, "parameters": point.prefetch_parameters},
            "evict": {"name": point.evict, "parameters": {}},
            **({} if point.plan == "none" else {"plan": {"name": point.plan, "parameters": {}}}),
        },
        "footprint_bytes": point.footprint_bytes,
        "capacity_bytes": point.capacity_bytes,
        "osf_thousandths": thousandths or round(1000 * point.footprint_bytes / point.capacity_bytes),
        "total_ns": total_ns,
        "ideal_ns": ideal_ns(counters),
        "unlimited": baseline
        and {
            "total_ns": baseline.total()[0],
            "settled_ns": baseline.duration_ns,
            "hypothetical": baseline.hypothetical,
        },
        **(
            {
                "uncertainty": {
                    "low_ns": 1,
                    "high_ns": 2,
                    "low_slowdown_thousandths": point.range[0],
                    "high_slowdown_thousandths": point.range[1],
                }
            }
            if point.range
            else {}
        ),
        "counters": counters,
        "iterations": iterations,
        "settled": {**iterations[-1], "first_index": 1, **settling_of(point)} if iterations else None,
        "system": {"name": point.system, "runtime": {"device_memory_beside": point.beside}},
    }


def write_lines(points, path):
    with open(path, "w", encoding="utf-8") as file:
        for point in points:
            file.write(json.dumps(result_of(point, points)) + "\n")
    return path


def create(connection, table, rows):
    columns = ", ".join(f'"{name}"' for name in rows[0])
    connection.execute(f"CREATE TABLE {table} ({columns})")
    marks = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", [tuple(row.values()) for row in rows])


def point_row(position, point, ids):
    total_ns, counters = point.total()
    thousandths = None if point.osf is None else round(1000 * point.osf)
    return {
        "position": position,
        "id": ids[point],
        "asked": int(point.asked),
        "command": f"uvmsim run {point.program}.uvmt",
        "trace": point.program + ".uvmt",
        "trace_sha256": point.program.encode().hex().ljust(64, "0"),
        "trace_partial": 0,
        "program": "python3 train.py",
        "recorded_gpu": "NVIDIA H200",
        "system": point.system,
        "system_sha256": point.system_sha256,
        "settings": '["runtime.device_memory_beside=true"]' if point.beside else "[]",
        "layout": point.layout,
        "layout_parameters": "{}",
        "limit_by": point.limit,
        "osf_thousandths": thousandths,
        "limit_capacity_bytes": None,
        "limit_footprint_bytes": None,
        "prefetch": point.prefetch,
        "prefetch_parameters": json.dumps(point.prefetch_parameters),
        "evict": point.evict,
        "evict_parameters": "{}",
        "plan": point.plan,
        "plan_parameters": "{}",
        "plugins": "[]",
        "seed": point.seed,
        "include_host_gaps": 1,
        "iterations_asked": point.iterations,
        "time_scale_millionths": point.time_scale_millionths,
        "footprint_bytes": point.footprint_bytes,
        "capacity_bytes": point.capacity_bytes,
        "effective_osf_thousandths": thousandths or round(1000 * point.footprint_bytes / point.capacity_bytes),
        "records": 1,
        "iterations": point.iterations,
        "total_ns": total_ns,
        "ideal_ns": ideal_ns(counters),
        "slowdown_ideal_thousandths": 1000,
        "settled_ns": point.duration_ns,
        "unlimited_id": ids.get(baseline_of(point, ids)),
        "slowdown_thousandths": None,
        **counters,
    }


def write_database(points, path, planned=None, schema="uvmsim.sweep/2"):
    """Writes the database of a sweep. Points with an `error` are failed ones; `planned` makes it incomplete."""
    finished = [point for point in points if point.error is None]
    failed = [point for point in points if point.error is not None]
    planned = len(points) if planned is None else planned
    ids = {point: f"{number:064x}" for number, point in enumerate(finished, start=1)}
    sweep = {
        "schema": schema,
        "uvmsim_version": "0.1.0",
        "uvmsim_commit": "0123456789ab",
        "model_version": "m" * 64,
        "spec": "{}",
        "spec_sha256": "0" * 64,
        "planned": planned,
        "finished": len(finished),
        "failed": len(failed),
        "complete": int(len(finished) == planned),
    }
    iterations, settled = [], []
    for point in finished:
        for index, (duration, counters) in enumerate(point.each()):
            begin, end = index * duration, (index + 1) * duration
            row = {"id": ids[point], "iteration": index, "begin_ns": begin, "end_ns": end, "duration_ns": duration}
            iterations.append({**row, "ideal_ns": ideal_ns(counters), **counters})
        if point.iterations:
            row = {"id": ids[point], "first_iteration": 1, "last_iteration": point.iterations - 1, "iterations": 9}
            row.update(settling_of(point))
            times = {
                "duration_ns": point.duration_ns,
                "ideal_ns": ideal_ns(point.counters),
            }
            settled.append({**row, **times, **point.counters})
    errors = [
        {"position": number, "id": "f" * 64, "label": point.program, "error": point.error}
        for number, point in enumerate(failed)
    ]
    connection = sqlite3.connect(path)
    create(connection, "sweep", [sweep])
    create(connection, "points", [point_row(place, point, ids) for place, point in enumerate(finished, start=1)])
    create(connection, "iterations", iterations or [{"id": None, "iteration": None, "duration_ns": None}])
    create(connection, "settled", settled or [{"id": None, "duration_ns": None}])
    create(connection, "failures", errors or [{"position": None, "id": None, "label": None, "error": None}])
    for table in ("iterations", "settled", "failures"):
        connection.execute(f"DELETE FROM {table} WHERE id IS NULL")
    connection.commit()
    connection.close()
    return path
