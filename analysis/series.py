# SPDX-License-Identifier: Apache-2.0
"""Series of points that differ only in their limit, named by what tells them apart."""

import pandas

from analysis.errors import ResultError
from analysis.frame import IDENTITY, moved_bytes, settled

# Parts of an identity that need saying even where all series share them.
TITLE_PARTS = ("program", "system", "layout", "policies", "whole")
# Told apart by these only where nothing else does: other lengths, two versions of a trace or of a system of one name.
LAST_RESORTS = ("length", "trace", "setting")

GIB = 1 << 30
# What slowdowns divide by: one run per program and system, whatever the policies (sim/sweep/point.h, baseline_of).
BASELINE = "the driver's own policies with the GPU's whole memory"
SLOWDOWN_AXIS = "slowdown (× driver's policies, no limit)"


def text_of(column, value):
    if column == "layout":
        return f"layout {value}"
    if column == "seed":
        return str(value) if str(value).startswith("mean") else f"seed {value}"
    if column == "length":
        return f"{value} iterations"
    if column == "whole":
        return value or "whole sweep"
    if column in LAST_RESORTS:
        return f"{column} {value}"
    return str(value)


def points_of(frame):
    """One row per finished point: its settled iteration with slowdown and traffic. Raises ResultError without any.

    The slowdown is against BASELINE; empty where the results do not hold that."""
    points = settled(frame).copy()
    if points.empty:
        raise ResultError("no finished points to draw")
    points["htod_gib"] = moved_bytes(points, "htod") / GIB
    points["dtoh_gib"] = moved_bytes(points, "dtoh") / GIB
    if (points["unlimited_ns"] <= 0).any():
        raise ResultError(f"{points['program'].iloc[0]}: the run to compare with takes no time")
    points["slowdown"] = points["duration_ns"] / points["unlimited_ns"].astype(float)
    return over_seeds(points.sort_values("point", kind="stable"))


# What a merged point has the extremes of, as NAME_low and NAME_high.
SCATTERED = ("duration_ns", "slowdown", "htod_gib", "dtoh_gib", "gap")


def over_seeds(points):
    """Points that differ in nothing but their seed, as one: means, and the smallest and largest of SCATTERED. A point
    of one seed is its own mean and extremes."""
    measures = [name for name in SCATTERED if name in points]
    for name in measures:
        points[f"{name}_low"] = points[f"{name}_high"] = points[name]
    columns = [name for name in IDENTITY if name != "seed"] + ["limit", "osf", "capacity_bytes"]
    merged = []
    for _, members in points.groupby(columns, sort=False, dropna=False):
        if members["seed"].nunique() < 2:
            merged.append(members)
            continue
        one = members.drop_duplicates("seed", keep="last")
        row = one.iloc[:1].copy()
        numbers = [name for name in one.select_dtypes("number") if name not in (*columns, "point", "iteration")]
        for name in numbers:
            row[name] = one[name].astype(float).mean()
        for name in measures:
            row[f"{name}_low"], row[f"{name}_high"] = one[name].min(), one[name].max()
        row["seed"] = f"mean of {len(one)} seeds"
        row["made_by"] = "\n".join(dict.fromkeys(one["made_by"]))
        merged.append(row)
    return pandas.concat(merged).sort_values("point", kind="stable")


def bars_between(axis, x, middle, low, high, colour):
    """Error bars from `low` to `high` (columns of numbers) where they differ; none where they do nowhere."""
    middle, low, high = (column.astype(float) for column in (middle, low, high))
    if not (high > low).any():
        return
    errors = [(middle - low).clip(lower=0).tolist(), (high - middle).clip(lower=0).tolist()]
    axis.errorbar(list(x), middle.tolist(), yerr=errors, fmt="none", ecolor=colour, elinewidth=1, capsize=2)


def error_bars(axis, x, points, column, colour):
    """From the smallest to the largest of several seeds, where there are some."""
    bars_between(axis, x, points[column], points[f"{column}_low"], points[f"{column}_high"], colour)


def period_of(points):
    """What a number per point is of: "per iteration", or "in the run" where a trace marks no iterations; and whether some
    run has not settled."""
    if not (points["scope"] == "settled").all():
        return "in the run"
    unsettled = [known for known in points["is_settled"] if known is False]
    return f"per iteration, {len(unsettled)} of {len(points)} not settled" if unsettled else "per iteration"


def require_baseline(points):
    """Raises ResultError where a point has no slowdown: nothing else is put in its place."""
    missing = points[points["slowdown"].isna()]
    if len(missing):
        first = missing.iloc[0]
        raise ResultError(
            f"{first['program']} ({first['policies']}): no run to compare with, {BASELINE}; `uvmsim run` without"
            " --no-unlimited-run and a finished `uvmsim sweep` have it"
        )


def with_factors(points):
    """The points by rising factor, those with the GPU's whole memory first, with the factor as text in `factor`."""
    points = points.copy()
    unlimited = points["limit"] == "none"
    points["factor"] = ["no limit" if whole else f"{osf:g}" for osf, whole in zip(points["osf"], unlimited)]
    order = points["osf"].where(~unlimited, 0)
    return points.assign(order=order).sort_values(["order", "point"], kind="stable").drop(columns="order")


def series_of(points, apart_from=()):
    """[(identity, points by rising factor)] in the order in which the series appear; columns of `apart_from` are left
    out of the identity. Points with the GPU's whole memory belong in no curve, unless there is nothing else."""
    columns = [name for name in IDENTITY if name not in apart_from]
    series = []
    for key, members in points.groupby(columns, sort=False, dropna=False):
        limited = members[members["limit"] != "none"]
        chosen = limited if len(limited) else members
        series.append((dict(zip(columns, key)), chosen.sort_values(["osf", "point"], kind="stable")))
    return series


def labels(identities, title_parts=TITLE_PARTS):
    """Title (what all identities share of `title_parts`) and one label each (what tells it apart)."""
    names = list(identities[0])
    shared = [name for name in names if len({one[name] for one in identities}) == 1]
    title = ", ".join(
        text_of(name, identities[0][name])
        for name in shared
        if name in title_parts and (name, identities[0][name]) not in (("layout", "recorded"), ("whole", ""))
    )
    apart = [name for name in names if name not in shared]
    for name in reversed(LAST_RESORTS):
        without = [other for other in apart if other != name]
        if len({tuple(one[other] for other in without) for one in identities}) == len(identities):
            apart = without
    if not apart:
        apart = names[:1]
    texts = [", ".join(text_of(name, one[name]) for name in apart if one[name] != "") for one in identities]
    return title, [text or "default" for text in texts]
