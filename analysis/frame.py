# SPDX-License-Identifier: Apache-2.0
"""One tidy table of results, whatever file they came from: rows per point for the whole run, each iteration and the
settled iterations.

| columns | meaning |
|---|---|
| `point` | number of the run, from 0, in the order read |
| `program`, `trace`, `system`, `setting`, `seed`, `gaps`, `speed`, `length` | what ran; `trace` and `setting` tell apart two \
traces or systems of one name, `length` is the number of iterations, or the most that ran until it settled |
| `layout name`, `prefetch`, `evict`, ... and `layout parameters`, ... | two columns per choice |
| `layout`, `policies` | the choices as short names; parameters are named where they differ within the table |
| `limit` | `none`, `osf` or `capacity` |
| `osf`, `capacity_bytes`, `footprint_bytes` | the factor as asked for (in force where none was asked for) |
| `scope` | `run` (the whole run), `iteration`, or `settled` (the mean settled iteration) |
| `iteration` | index, in rows of scope `iteration` |
| `settled` | true in the one row per point to quote: of scope `settled`, or the run's where it marks no iterations |
| `is_settled`, `learning_iterations` | in rows of scope `settled`: whether the run has settled, and after how many \
iterations (sim/report/README.md); empty for older results |
| `first_quoted`, `last_quoted`, `shortest_ns`, `longest_ns` | of which iterations the mean is, and the extremes of these |
| `duration_ns` | of the run, the iteration, the mean settled iteration |
| `ideal_ns` | the same with everything resident and no cost of managed memory; empty where not reported |
| `unlimited_ns` | the same under the driver's own policies with room for all: what slowdowns divide by; empty where not \
reported |
| `baseline_hypothetical` | true: the whole GPU has no room for all, that run had as much memory as the program needs |
| `bound <name>_ns` | lower bounds of the run, where the result holds some |
| `uncertain_low_ns`, `uncertain_high_ns`, `uncertain_slowdown_low`, `uncertain_slowdown_high` | of the one row to quote, on \
the fastest and the slowest machine that the system may stand for (`uvmsim run --uncertainty`); empty where not asked for |
| `made_by` | the command line, version, commit, model and hashes of trace and system that made it |
| `whole` | empty, or of which incomplete sweep the point is |
| `status`, `error` | `ok`; or `failed`, then the row (scope `run`) holds nothing but the error and the point's name |
| the rest | counters (sim/events/counters.h) of the same |
"""

import hashlib
import json

import pandas

from analysis.errors import ResultError
from analysis.plain_text import plain

# Columns that the runs of one series share, in the order of labels.
IDENTITY = ("program", "system", "layout", "policies", "seed", "gaps", "speed", "length", "trace", "setting", "whole")

# The results of settling_of().
SETTLING = ("is_settled", "learning_iterations", "first_quoted", "last_quoted", "shortest_ns", "longest_ns")

# The policies of slots that a result may leave out; short names of policies leave them out too.
USUAL = {"plan": "none", "migrate": "first_touch", "route": "direct", "batch": "driver"}


def parameters_text(parameters):
    return ",".join(f"{key}={value}" for key, value in parameters.items())


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def program_name(file):
    return file.removesuffix(".uvmt")


def gaps_text(included):
    return "with host gaps" if included else "no host gaps"


def speed_text(factor_millionths):
    """Formats a requested factor of kernel durations; empty for the usual rule."""
    return f"time scale {factor_millionths / 1e6:g}" if factor_millionths else ""


def made_by(source, trace_sha256, system_sha256):
    """Formats the origin on one line; `source` holds command, uvmsim_version, commit and model_version (older results
    lack some)."""
    names = ("uvmsim_version", "uvmsim_commit", "model_version")
    texts = [f"{name} {str(source[name])[:12]}" for name in names if source.get(name)]
    texts += [f"trace {trace_sha256[:12]}"] + ([f"system {system_sha256[:12]}"] if system_sha256 else [])
    return f"{source.get('command') or 'uvmsim run ...'}  # {', '.join(texts)}"


def made_by_text(frame, most=40):
    """Formats the origins of a table's results, for the metadata of its figures."""
    lines = list(dict.fromkeys(frame["made_by"].dropna()))
    more = [f"... and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join(lines[:most] + more)


def identity_of(result):
    identity = {
        "program": program_name(result["trace"]["file"]),
        "trace": result["trace"]["sha256"][:8],
        "system": result["system"].get("name", "unnamed system"),
        "setting": digest(result["system"]),
        "beside": bool(result["system"].get("runtime", {}).get("device_memory_beside", False)),
        "layout name": result["layout"],
        "layout parameters": parameters_text(result.get("layout_parameters", {})),
        "seed": result["seed"],
        "gaps": gaps_text(result["include_host_gaps"]),
        "speed": speed_text((result.get("time_scale") or {}).get("factor_millionths")),
        "length": length_of(result["iterations"], result.get("until_settled"), result.get("requested_iterations")),
        "whole": "",
    }
    for slot, used in result["policies"].items():
        identity[slot] = used["name"]
        identity[f"{slot} parameters"] = parameters_text(used["parameters"])
    return identity


def length_of(iterations, until_settled, asked):
    """Returns the number of iterations; for a run that ended when it had settled, the maximum."""
    return asked if until_settled else len(iterations)


def osf_of(result):
    """Returns the requested factor; the one in force differs slightly, as the capacity is whole 2 MB chunks."""
    return (result["limit"]["osf_thousandths"] or result["osf_thousandths"]) / 1000


def settling_of(part):
    """Returns whether and when the run has settled, from the settled part of a result or the same row of a sweep."""
    known = part.get("is_settled")
    return {
        "is_settled": None if known is None else bool(known),
        "learning_iterations": part.get("learning_iterations"),
        "first_quoted": part.get("first_index", part.get("first_iteration")),
        "last_quoted": part.get("index", part.get("last_iteration")),
        "shortest_ns": part.get("shortest_ns"),
        "longest_ns": part.get("longest_ns"),
    }


def ranges_of(uncertainty):
    if not uncertainty:
        return {}
    low, high = (uncertainty[f"{end}_slowdown_thousandths"] for end in ("low", "high"))
    return {
        "uncertain_low_ns": uncertainty["low_ns"],
        "uncertain_high_ns": uncertainty["high_ns"],
        "uncertain_slowdown_low": None if low is None else low / 1000,
        "uncertain_slowdown_high": None if high is None else high / 1000,
    }


def rows_of(result):
    """The rows of one result, an object of schema uvmsim.result/3 (sim/report/README.md)."""
    if result.get("slowdown_ideal_thousandths") == 0 and result["ideal_ns"] and result["counters"].get("kernels"):
        raise ResultError(
            f"{result['trace']['file']}: no kernel touches managed memory: what they touch was not recorded (coverage none),"
            " so that its times say nothing about memory; allowed: results of a trace with accesses"
        )
    made = made_by(result, result["trace"]["sha256"], result.get("system_sha256"))
    common = {**identity_of(result), "made_by": made, "limit": result["limit"]["by"], "osf": osf_of(result)}
    common.update(capacity_bytes=result["capacity_bytes"], footprint_bytes=result["footprint_bytes"], status="ok")
    unlimited = result["unlimited"] or {}
    common["baseline_hypothetical"] = bool(unlimited.get("hypothetical"))
    whole = {
        **common,
        "scope": "run",
        "iteration": None,
        "settled": not result["iterations"],
        "duration_ns": result["total_ns"],
        "ideal_ns": result["ideal_ns"],
        "unlimited_ns": unlimited.get("total_ns"),
        **{f"bound {name}": value for name, value in result.get("bounds", {}).items() if name.endswith("_ns")},
        **result["counters"],
    }
    rows = [whole]
    ranges = ranges_of(result.get("uncertainty"))
    if whole["settled"]:
        whole.update(ranges)
    for scope, part in [("iteration", one) for one in result["iterations"]] + [("settled", result["settled"])]:
        if part:
            rows.append(
                {
                    **common,
                    "scope": scope,
                    "iteration": part["index"] if scope == "iteration" else None,
                    "settled": scope == "settled",
                    "duration_ns": part["duration_ns"],
                    "ideal_ns": part.get("ideal_ns"),
                    "unlimited_ns": unlimited.get("settled_ns") if scope == "settled" else None,
                    **({**settling_of(part), **ranges} if scope == "settled" else {}),
                    **part["counters"],
                }
            )
    return rows


def tidy(points):
    """Returns the table of `points`, which has a list of rows for each."""
    frame = pandas.DataFrame([{**row, "point": number} for number, rows in enumerate(points) for row in rows])
    if "error" not in frame:
        frame["error"] = ""
    frame["error"] = frame["error"].fillna("")
    for slot, usual in USUAL.items():  # a result with the usual policy of these slots may not say so
        if slot in frame:
            frame[slot] = frame[slot].fillna(usual)
            frame[f"{slot} parameters"] = frame[f"{slot} parameters"].fillna("")
    frame["layout"] = short_names(frame, ["layout name"])
    frame["policies"] = short_names(frame, policy_slots(frame))
    for name in SETTLING:
        frame[name] = frame[name].astype(object).where(frame[name].notna(), None) if name in frame else None
    if "baseline_hypothetical" not in frame:
        frame["baseline_hypothetical"] = False
    frame["baseline_hypothetical"] = frame["baseline_hypothetical"].eq(True)
    if "iteration" not in frame:
        frame["iteration"] = None
    frame["iteration"] = frame["iteration"].astype("Int64")
    return frame


# Columns of texts and of booleans; all others hold numbers.
TEXTS = {"program", "trace", "system", "setting", "layout name", "gaps", "speed", "whole", "made_by", "limit", "status"}
FLAGS = {"settled", "is_settled", "baseline_hypothetical", "beside"}
LARGEST = float(1 << 64)


def is_text_column(name, slots):
    return name in TEXTS or name == "scope" or name in slots or name.endswith(" parameters")


def check_row(row, where):
    slots = {name.removesuffix(" parameters") for name in row if name.endswith(" parameters")}
    for name, value in row.items():
        if value is None or name in FLAGS and isinstance(value, bool):
            continue
        if is_text_column(name, slots):
            if not isinstance(value, str):
                raise ResultError(f"{where}: {plain(name)} is {str(value)[:40]!r}; allowed: a text")
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LARGEST:
            raise ResultError(f"{where}: {plain(name)} is {str(value)[:40]!r}; allowed: a number from 0 to 2^64")
    for name in ("duration_ns", "osf", "capacity_bytes", "seed", "length"):
        if row.get(name) is None:
            raise ResultError(f"{where}: {name} is missing")


def checked(points, where):
    """Returns `points` (lists of rows) if they are valid: texts, and numbers from 0 to 2^64."""
    for rows in points:
        for row in rows:
            check_row(row, where)
    return points


def result_rows(result, where):
    try:
        return checked([rows_of(result)], where)[0]
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ResultError(f"{where}: not a whole result of uvmsim: {error!r}") from error


def policy_slots(frame):
    """Returns the policy slots of the table, in the order of their columns."""
    slots = [name.removesuffix(" parameters") for name in frame.columns if name.endswith(" parameters")]
    return [slot for slot in slots if slot != "layout"]


def varying_parameters(frame, choice, parameters):
    """Returns {chosen name: parameters that differ between the points that chose it}."""
    values = {}
    for name, text in frame[[choice, parameters]].drop_duplicates().itertuples(index=False, name=None):
        for parameter in filter(None, str(text).split(",")):
            values.setdefault(name, {}).setdefault(parameter.split("=")[0], set()).add(parameter)
    return {name: {key for key, seen in found.items() if len(seen) > 1} for name, found in values.items()}


def short_names(frame, choices):
    """Returns one text per row, such as "tree:threshold=75, lrm"; parameters are named only where they differ."""
    pairs = [(choice, choice.removesuffix(" name") + " parameters") for choice in choices]
    columns = [column for pair in pairs for column in pair]
    varying = {choice: varying_parameters(frame, choice, parameters) for choice, parameters in pairs}

    def name_of(key):
        parts = []
        for (choice, _), name, text in zip(pairs, key[::2], key[1::2]):
            if name == USUAL.get(choice):
                continue
            wanted = varying[choice].get(name, ())
            named = [one for one in str(text).split(",") if one.split("=")[0] in wanted]
            parts.append(f"{name}:{','.join(named)}" if named else str(name))
        return ", ".join(parts)

    names = {key: name_of(key) for key in set(frame[columns].itertuples(index=False, name=None))}
    return [names[key] for key in frame[columns].itertuples(index=False, name=None)]


def whole_runs(frame):
    """Returns one row per finished point: the whole run."""
    return frame[(frame["scope"] == "run") & (frame["status"] == "ok")]


def iterations(frame):
    """Returns one row per finished point and iteration."""
    return frame[(frame["scope"] == "iteration") & (frame["status"] == "ok")]


def settled(frame):
    """Returns one row per finished point: the settled iterations, or the whole run if the trace marks none."""
    return frame[frame["settled"].astype(bool) & (frame["status"] == "ok")]


def moved_bytes(frame, direction):
    """Returns the bytes moved in one direction ("htod" or "dtoh") per row, for all causes."""
    names = [name for name in frame.columns if name.startswith(f"{direction}_") and name.endswith("_bytes")]
    return frame[names].sum(axis=1)


def transactions(frame, direction):
    """Returns the transfers in one direction per row, for all causes."""
    names = [name for name in frame.columns if name.startswith(f"{direction}_") and name.endswith("_transactions")]
    return frame[names].sum(axis=1)
