# SPDX-License-Identifier: Apache-2.0
"""Series of points that differ only in their limit, named by their differences."""

import pandas

from analysis.errors import ResultError
from analysis.frame import IDENTITY, moved_bytes, settled

# Parts of an identity that are named even if all series share them.
TITLE_PARTS = ("program", "system", "layout", "policies", "whole")
# Parts that name a difference only if no other part does: other lengths, two versions of a trace or of a system.
LAST_RESORTS = ("length", "trace", "setting")

GIB = 1 << 30
# The baseline of slowdowns: one run per program and system for all policies (sim/sweep/point.h, baseline_of).
BASELINE = "the driver's own policies with room for all"
SLOWDOWN_AXIS = "slowdown (× driver's policies, room for all)"
HYPOTHETICAL = "more memory than the GPU has"
BAND = "on machines like this one"


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


def slowdown_axis(points):
    """Returns SLOWDOWN_AXIS, and whether some baseline had a hypothetical capacity."""
    return f"{SLOWDOWN_AXIS[:-1]},\n{HYPOTHETICAL})" if points["baseline_hypothetical"].any() else SLOWDOWN_AXIS


def points_of(frame):
    """Returns one row per finished point: its settled iteration with slowdown and traffic. Raises ResultError without
    any.

    The slowdown is relative to BASELINE; empty if the results do not contain it."""
    points = settled(frame).copy()
    if points.empty:
        raise ResultError("no finished points to draw")
    points["htod_gib"] = moved_bytes(points, "htod") / GIB
    points["dtoh_gib"] = moved_bytes(points, "dtoh") / GIB
    if (points["unlimited_ns"] <= 0).any():
        raise ResultError(f"{points['program'].iloc[0]}: the run to compare with takes no time")
    points["slowdown"] = points["duration_ns"] / points["unlimited_ns"].astype(float)
    return over_seeds(points.sort_values("point", kind="stable"))


# Columns of which a merged point has the extremes, as NAME_low and NAME_high.
SCATTERED = ("duration_ns", "slowdown", "htod_gib", "dtoh_gib", "gap")
TIMES = ("duration_ns", "slowdown")


def over_seeds(points):
    """Merges points that differ only in their seed: means, and the smallest and largest of SCATTERED. A point with one
    seed is its own mean and extremes; the time extremes of a run that has not settled are those of its iterations."""
    measures = [name for name in SCATTERED if name in points]
    for name in measures:
        points[f"{name}_low"] = points[f"{name}_high"] = points[name]
    moving = points["is_settled"].eq(False)
    for name in (name for name in TIMES if name in points):
        for end, extreme in (("low", "shortest_ns"), ("high", "longest_ns")):
            share = pandas.to_numeric(points[extreme].where(moving)) / points["duration_ns"].astype(float)
            points[f"{name}_{end}"] = points[name].where(share.isna(), points[name] * share)
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
            row[f"{name}_low"], row[f"{name}_high"] = one[f"{name}_low"].min(), one[f"{name}_high"].max()
        row["seed"] = f"mean of {len(one)} seeds"
        row["made_by"] = "\n".join(dict.fromkeys(one["made_by"]))
        merged.append(row)
    return pandas.concat(merged).sort_values("point", kind="stable")


def bars_between(axis, x, middle, low, high, colour):
    """Draws error bars from `low` to `high` (columns of numbers) if they differ anywhere."""
    middle, low, high = (column.astype(float) for column in (middle, low, high))
    if not (high > low).any():
        return
    errors = [(middle - low).clip(lower=0).tolist(), (high - middle).clip(lower=0).tolist()]
    axis.errorbar(list(x), middle.tolist(), yerr=errors, fmt="none", ecolor=colour, elinewidth=1, capsize=2)


def error_bars(axis, x, points, column, colour):
    """Draws error bars over several seeds, if there are any."""
    bars_between(axis, x, points[column], points[f"{column}_low"], points[f"{column}_high"], colour)


def period_of(points):
    """Returns the scope of a number per point, "per iteration" or "in the run" (if a trace marks no iterations), and
    whether some run has not settled."""
    if not (points["scope"] == "settled").all():
        return "in the run"
    unsettled = [known for known in points["is_settled"] if known is False]
    return f"per iteration, {len(unsettled)} of {len(points)} not settled" if unsettled else "per iteration"


def unsettled_text(point):
    """Describes a point that has not settled: the iterations that its numbers are means of, and their range."""
    if point.is_settled is not False:
        return ""
    window = f"{point.first_quoted:g}–{point.last_quoted:g}"
    return f"{window}, {point.duration_ns_low / 1e6:.1f}–{point.duration_ns_high / 1e6:.1f}"


def band(axis, points, colour):
    """Draws the range of the slowdown on other machines of the kind, if the results have it; returns whether they
    do."""
    if "uncertain_slowdown_low" not in points or points["uncertain_slowdown_low"].isna().any():
        return False
    low, high = (points[f"uncertain_slowdown_{end}"].astype(float).tolist() for end in ("low", "high"))
    axis.fill_between(list(points["osf"]), low, high, color=colour, alpha=0.18, linewidth=0, label=BAND)
    return True


def mark_unsettled(axis, points, column, colour):
    """Draws hollow markers over those of points that have not settled."""
    moving = points[points["is_settled"].eq(False)]
    if len(moving):
        axis.plot(moving["osf"], moving[column], "o", color=colour, markerfacecolor="white", markersize=3, zorder=5)


def require_baseline(points):
    """Raises ResultError for a point without a slowdown: nothing else is substituted."""
    missing = points[points["slowdown"].isna()]
    if len(missing):
        first = missing.iloc[0]
        raise ResultError(
            f"{first['program']} ({first['policies']}): no run to compare with, {BASELINE}; `uvmsim run` without"
            " --no-unlimited-run and a finished `uvmsim sweep` have it"
        )


def with_factors(points):
    """Returns the points by rising factor, those with the GPU's whole memory first, with the factor as text in
    `factor`."""
    points = points.copy()
    unlimited = points["limit"] == "none"
    points["factor"] = ["no limit" if whole else f"{osf:g}" for osf, whole in zip(points["osf"], unlimited)]
    order = points["osf"].where(~unlimited, 0)
    return points.assign(order=order).sort_values(["order", "point"], kind="stable").drop(columns="order")


def series_of(points, apart_from=()):
    """Returns [(identity, points by rising factor)] in the order of appearance; columns of `apart_from` are left out of
    the identity. Points with the GPU's whole memory belong to no curve, unless there are no other points."""
    columns = [name for name in IDENTITY if name not in apart_from]
    series = []
    for key, members in points.groupby(columns, sort=False, dropna=False):
        limited = members[members["limit"] != "none"]
        chosen = limited if len(limited) else members
        series.append((dict(zip(columns, key)), chosen.sort_values(["osf", "point"], kind="stable")))
    return series


def labels(identities, title_parts=TITLE_PARTS):
    """Returns the title (the common part of `title_parts`) and one label each (the differences)."""
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
