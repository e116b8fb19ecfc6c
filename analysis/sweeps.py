# SPDX-License-Identifier: Apache-2.0
"""Reads sweeps: the `results.sqlite` of `uvmsim sweep` (sim/sweep/README.md describes its tables)."""

import os
import sqlite3

from analysis.database import columns_of, is_database, open_database, rows_of
from analysis.errors import ResultError
from analysis.frame import (
    checked,
    gaps_text,
    length_of,
    made_by,
    parameters_text,
    program_name,
    settling_of,
    speed_text,
)
from analysis.json_text import parse_json

SCHEMA = "uvmsim.sweep/2"
WHOLE, PARTIAL = "results.sqlite", "results.partial.sqlite"


def database_of(path, allow_partial):
    """Returns the database of a path: itself, or that of a sweep's folder."""
    if not os.path.isdir(path):
        return path
    candidates = [WHOLE, PARTIAL] if allow_partial else [WHOLE]
    for name in candidates:
        if os.path.exists(os.path.join(path, name)):
            return os.path.join(path, name)
    raise ResultError(
        f"{path}: holds no {' or '.join(candidates)}: not a finished sweep; `uvmsim sweep status` says what is missing,"
        " `uvmsim sweep collect --partial` collects what there is, --partial here takes it"
    )


def rows_of_table(connection, table, order):
    names, rows = rows_of(connection.execute(f"SELECT * FROM {table} ORDER BY {order}"))
    return [dict(zip(names, values)) for values in rows]


def refuse_partial(path, sweep, allow_partial):
    """Returns a warning to print with results of an incomplete sweep, or "" for a complete one."""
    if sweep["complete"]:
        return ""
    if not allow_partial:
        raise ResultError(
            f"{path}: a partial sweep: {sweep['finished']} of {sweep['planned']} points finished,"
            f" {sweep['failed']} failed; finish it with `uvmsim sweep`, or pass --partial to take what there is"
        )
    return f"partial sweep: {sweep['finished']} of {sweep['planned']} points"


def identity_of(point, whole):
    identity = {
        "program": program_name(point["trace"]),
        "trace": point["trace_sha256"][:8],
        "system": point["system"],
        "setting": point["system_sha256"][:8],
        "beside": "runtime.device_memory_beside=true" in (point.get("settings") or ""),
        "layout name": point["layout"],
        "seed": point["seed"],
        "gaps": gaps_text(point["include_host_gaps"]),
        "speed": speed_text(point["time_scale_millionths"]),
        "length": length_of(range(point["iterations"]), point.get("until_settled"), point["iterations_asked"]),
        "whole": whole,
    }
    for name in point:
        if name.endswith("_parameters"):
            choice = name.removesuffix("_parameters")
            if choice != "layout":
                identity[choice] = point[choice]
            identity[f"{choice} parameters"] = parameters_text(parse_json(point[name]))
    return identity


def is_bound(name, value):
    return name.startswith("bound_") and value is not None


def rows_of_point(point, iterations, settled, unlimited, counters, whole):
    """Returns the rows of one point (frame.py); `unlimited` is (total, settled) time of its baseline, or Nones."""
    common = {
        **identity_of(point, whole),
        "made_by": point["made_by"],
        "limit": point["limit_by"],
        "osf": (point["osf_thousandths"] or point["effective_osf_thousandths"]) / 1000,
        "capacity_bytes": point["capacity_bytes"],
        "footprint_bytes": point["footprint_bytes"],
        "baseline_hypothetical": bool(point.get("baseline_hypothetical")),
        "status": "ok",
    }
    run = {
        **common,
        "scope": "run",
        "settled": not iterations,
        "duration_ns": point["total_ns"],
        "ideal_ns": point["ideal_ns"],
        "unlimited_ns": unlimited[0],
        **{f"bound {name.removeprefix('bound_')}": value for name, value in point.items() if is_bound(name, value)},
    }
    parts = [({"scope": "iteration", "settled": False, "iteration": one["iteration"]}, one) for one in iterations]
    if settled:
        scope = {"scope": "settled", "settled": True, "unlimited_ns": unlimited[1], **settling_of(settled)}
        parts.append((scope, settled))
    rows = [{**run, **{name: point[name] for name in counters}}]
    for scope, part in parts:
        values = {"duration_ns": part["duration_ns"], "ideal_ns": part.get("ideal_ns")}
        rows.append({**common, **scope, **values, **{name: part[name] for name in counters}})
    return rows


def points_of(connection, whole, sweep):
    points = rows_of_table(connection, "points", "position")
    by_id = {point["id"]: point for point in points}
    settled = {row["id"]: row for row in rows_of_table(connection, "settled", "id")}
    iterations = {}
    for row in rows_of_table(connection, "iterations", "id, iteration"):
        iterations.setdefault(row["id"], []).append(row)
    columns = columns_of(connection, "iterations")
    counters = [
        name for name in columns if name not in ("id", "iteration", "begin_ns", "end_ns", "duration_ns", "ideal_ns")
    ]
    read = []
    for point in points:
        if not point["asked"]:
            continue
        same = by_id.get(point["unlimited_id"])
        unlimited = (same["total_ns"], same["settled_ns"]) if same else (None, None)
        point["made_by"] = made_by({**sweep, **point}, point["trace_sha256"], point["system_sha256"])
        read.append(
            rows_of_point(point, iterations.get(point["id"], []), settled.get(point["id"]), unlimited, counters, whole)
        )
    return read


def failures_of(connection, whole):
    failed = []
    for row in rows_of_table(connection, "failures", "position"):
        name = {"program": row["label"], "whole": whole, "status": "failed", "error": row["error"]}
        failed.append([{**name, "scope": "run", "settled": False}])
    return failed


def read_sweep(path, allow_partial=False):
    """Returns one list of rows (frame.py) per point of a sweep. Raises ResultError for a partial one unless
    `allow_partial`."""
    path = database_of(path, allow_partial)
    if not is_database(path):
        raise ResultError(f"{path}: not an SQLite file; allowed: results.sqlite of `uvmsim sweep`")
    try:
        connection = open_database(path)
        try:
            sweep = rows_of_table(connection, "sweep", "1")[0]
            if sweep["schema"] != SCHEMA:
                raise ResultError(f"{path}: schema {sweep['schema']!r}; allowed: {SCHEMA!r}")
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'scenarios'").fetchone():
                raise ResultError(f"{path}: a sweep of scenarios; allowed: one of programs alone (analysis.sharing draws scenarios)")
            whole = refuse_partial(path, sweep, allow_partial)
            return checked(points_of(connection, whole, sweep), path) + failures_of(connection, whole)
        finally:
            connection.close()
    except (sqlite3.Error, KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ResultError(f"{path}: not a sweep of uvmsim: {error}") from error
