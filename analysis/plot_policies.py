# SPDX-License-Identifier: Apache-2.0
"""Compares policies: the time under each, relative to one of them, at every oversubscription factor.

    python3 -m analysis.plot_policies RESULTS... -o figure.png                 against the first policies of the results
    python3 -m analysis.plot_policies RESULTS... --against "tree, lrm"         against these, named as in the table

One panel per program (and layout, system, ...), one group of bars per factor, one bar per combination of policies.
Below 1 is faster. The table ends with the geometric mean over all factors that both ran. Times are those of the settled
iterations, or of the whole run when the trace marks none.
"""

import math
import sys

import pandas

from analysis.command import figure_command
from analysis.errors import ResultError
from analysis.frame import IDENTITY, made_by_text
from analysis.series import error_bars, labels, points_of, with_factors
from analysis.style import arrange, bar_look, grid_of, load_pyplot, ratio_scale, require_few, save_figure, title_panel
from analysis.tables import Table


def compare(points, against=None):
    """Returns one row per panel, factor and policies with `relative`, the time over that of `against` (default: the
    first)."""
    known = list(dict.fromkeys(points["policies"]))
    if against is None:
        against = known[0]
    elif against not in known:
        raise ResultError(f"--against: no policies '{against}'; allowed: {'; '.join(known)}")
    points = points.copy()
    panel_columns = [name for name in IDENTITY if name != "policies"]
    panels = list(points[panel_columns].drop_duplicates().itertuples(index=False, name=None))
    title, names = labels([dict(zip(panel_columns, key)) for key in panels])
    points["panel"] = [names[panels.index(key)] for key in points[panel_columns].itertuples(index=False, name=None)]
    if len(panels) == 1:
        points["panel"] = title
    points = with_factors(points)
    base = points[points["policies"] == against].drop_duplicates(["panel", "factor"], keep="last")
    base = base[["panel", "factor", "duration_ns"]].rename(columns={"duration_ns": "base_ns"})
    merged = points.merge(base, on=["panel", "factor"], how="left", sort=False)
    merged["relative"] = merged["duration_ns"] / merged["base_ns"]
    for end in ("low", "high"):
        merged[f"relative_{end}"] = merged[f"duration_ns_{end}"] / merged["base_ns"]
    # A single row has nothing to be compared with.
    compared = merged.groupby("panel")["policies"].transform("nunique") > 1
    order = dict.fromkeys(points.sort_values("point")["panel"])
    merged["order"] = [list(order).index(panel) for panel in merged["panel"]]
    merged = merged[compared] if compared.any() else merged
    return merged.sort_values("order", kind="stable"), against, ("" if len(panels) == 1 else title)


def geometric_mean(values):
    values = [value for value in values if not pandas.isna(value)]
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else math.nan


def tables(table, against, title):
    factors = list(dict.fromkeys(table["factor"]))
    made = []
    for panel in dict.fromkeys(table["panel"]):
        one = Table(panel, ["policies", *factors, "mean"], texts=1)
        of_panel = table[table["panel"] == panel]
        for name in dict.fromkeys(of_panel["policies"]):
            row = of_panel[of_panel["policies"] == name].drop_duplicates("factor", keep="last")
            values = row.set_index("factor")["relative"].reindex(factors)
            texts = ["–" if pandas.isna(value) else f"{value:.3f}" for value in values]
            one.add(name, *texts, f"{geometric_mean(values):.3f}")
        made.append(one)
    return ", ".join(filter(None, [title, f"time relative to {against}"])), made


def draw(table, against, title, path):
    pyplot = load_pyplot()
    panels, names = list(dict.fromkeys(table["panel"])), list(dict.fromkeys(table["policies"]))
    require_few(len(names), "combinations of policies")
    width = max(3.2, 0.16 * len(names) * table["factor"].nunique())
    columns = 1 if width > 5 else 2 if width > 3.6 else 3
    figure, axes = grid_of(pyplot, len(panels), columns=columns, width=min(width, 7.5), height=2.3)
    step = 0.8 / len(names)
    handles = {}
    for axis, panel in zip(axes, panels):
        of_panel = table[table["panel"] == panel]
        factors = list(dict.fromkeys(of_panel["factor"]))
        for number, name in enumerate(names):
            row = of_panel[of_panel["policies"] == name].drop_duplicates("factor", keep="last")
            row = row.set_index("factor").reindex(factors)
            values = row["relative"]
            places = [place - 0.4 + step * (number + 0.5) for place in range(len(factors))]
            handles[name] = axis.bar(places, values, step, **bar_look(number))
            error_bars(axis, places, row, "relative", "#222222")
        axis.axhline(1, color="#444444", linewidth=0.8)
        axis.set_xticks(range(len(factors)), [factor.replace(" ", "\n") for factor in factors])
        axis.grid(False, axis="x")
        title_panel(axis, panel)
        if axis.get_subplotspec().is_first_col():
            axis.set_ylabel("relative time (×)")
        axis.set_xlabel("oversubscription factor")
        ratio_scale(axis, list(of_panel["relative"].dropna()) + [1])
    arrange(
        figure, ", ".join(filter(None, [title, f"time relative to {against}"])), list(handles.values()), list(handles)
    )
    return save_figure(figure, path, made_by=made_by_text(table))


def main(arguments=None):
    against = ("--against", {"metavar": "POLICIES", "help": "the policies to compare with, such as 'tree, lrm'"})
    return figure_command(
        "plot_policies",
        __doc__,
        lambda frame, given: compare(points_of(frame), given.against),
        tables,
        draw,
        arguments,
        [against],
    )


if __name__ == "__main__":
    sys.exit(main())
