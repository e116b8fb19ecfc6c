"""Series of points that differ only in their limit, named by what tells them apart."""

from analysis.errors import ResultError
from analysis.frame import IDENTITY, moved_bytes, settled

# Parts of an identity that need saying even where all series share them.
TITLE_PARTS = ("program", "system", "layout", "policies", "whole")
# Told apart by these only where nothing else does: other lengths, two versions of a trace or of a system of one name.
LAST_RESORTS = ("length", "trace", "setting")

GIB = 1 << 30


def text_of(column, value):
    if column == "layout":
        return f"layout {value}"
    if column == "seed":
        return f"seed {value}"
    if column == "length":
        return f"{value} iterations"
    if column == "whole":
        return value or "whole sweep"
    if column in LAST_RESORTS:
        return f"{column} {value}"
    return str(value)


def points_of(frame):
    """One row per finished point: its settled iteration with slowdown and traffic. Raises ResultError without any.

    The slowdown is against the same program with the GPU's whole memory; where no point of a series holds that, against
    its point with the lowest factor."""
    points = settled(frame).copy()
    if points.empty:
        raise ResultError("no finished points to draw")
    points["htod_gib"] = moved_bytes(points, "htod") / GIB
    points["dtoh_gib"] = moved_bytes(points, "dtoh") / GIB
    columns = list(IDENTITY)
    points = points.sort_values(["osf", "point"], kind="stable")
    baselines = {}
    for key, members in points.groupby(columns, sort=False, dropna=False):
        known = members["unlimited_ns"].dropna()
        baselines[key] = known.iloc[0] if len(known) else members["duration_ns"].iloc[0]
        if baselines[key] <= 0:
            raise ResultError(f"{members['program'].iloc[0]}: the run to compare with takes no time")
    keys = list(points[columns].itertuples(index=False, name=None))
    points["slowdown"] = [duration / baselines[key] for duration, key in zip(points["duration_ns"], keys)]
    return points.sort_values("point", kind="stable")


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
