# SPDX-License-Identifier: Apache-2.0
"""How far runs are from what is possible at all: their time against lower bounds, one group of bars per program.

    python3 -m analysis.plot_bounds RESULTS... -o figure.png
    python3 -m analysis.plot_bounds RESULTS... --table

The lower bound that every result holds is its ideal time: the program with everything resident and no cost of managed
memory. Other bounds (`bounds` of a result: name and time in ns) are used where there are some. A bar is the time of the
whole run over the largest of its lower bounds: at 1 nothing is left to gain; the part above is the gap.
"""

import sys

from analysis.command import figure_command
from analysis.errors import ResultError
from analysis.frame import IDENTITY, made_by_text, whole_runs
from analysis.series import error_bars, labels, over_seeds, with_factors
from analysis.style import COLOURS, arrange, grid_of, load_pyplot, ratio_scale, save_figure, title_panel
from analysis.tables import Table

IDEAL = "all resident"


def bounds_of(runs):
    """Returns {name of a bound: column of the table}."""
    others = {name.removeprefix("bound ").removesuffix("_ns"): name for name in runs if name.startswith("bound ")}
    return {IDEAL: "ideal_ns", **others}


def gaps_of(frame):
    """Returns one row per finished point with `bound_ns` (its largest), `bound` (which) and `gap` (time over it)."""
    runs = whole_runs(frame).copy()
    if runs.empty:
        raise ResultError("no finished points to draw")
    bounds = bounds_of(runs)
    values = runs[list(bounds.values())].astype(float)
    if (values.max(axis=1) <= 0).any():
        raise ResultError(f"{runs['program'].iloc[0]}: the ideal run takes no time, nothing to compare with")
    runs["bound_ns"] = values.max(axis=1)
    names = {column: name for name, column in bounds.items()}
    runs["bound"] = [names[column] for column in values.idxmax(axis=1)]
    runs["gap"] = runs["duration_ns"] / runs["bound_ns"]
    return with_factors(over_seeds(runs))


def panels_of(runs):
    """Returns [(name, points by rising factor)] and the common title."""
    columns = list(IDENTITY)
    groups = [(dict(zip(columns, key)), members) for key, members in runs.groupby(columns, sort=False, dropna=False)]
    title, names = labels([identity for identity, _ in groups])
    if len(groups) == 1:
        names, title = [title], ""
    return title, [(name, members) for name, (_, members) in zip(names, groups)]


def tables(runs):
    title, panels = panels_of(runs)
    made = []
    for name, members in panels:
        table = Table(name, ["bound", "OSF", ("time", "ms"), ("bound", "ms"), ("time / bound", "×")], texts=1)
        for point in members.itertuples():
            table.add(
                point.bound,
                point.factor,
                f"{point.duration_ns / 1e6:.1f}",
                f"{point.bound_ns / 1e6:.1f}",
                f"{point.gap:.2f}",
            )
        made.append(table)
    return title, made


def draw(runs, path):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    pyplot = load_pyplot()
    title, panels = panels_of(runs)
    figure, axes = grid_of(pyplot, len(panels), width=3.0, height=2.3)
    bounds = bounds_of(runs)
    for axis, (name, members) in zip(axes, panels):
        places = range(len(members))
        axis.bar(places, members["gap"], 0.7, color="#bcd9ec", hatch="////", edgecolor=COLOURS[0], linewidth=0.6)
        axis.bar(places, [1] * len(members), 0.7, color=COLOURS[0])
        error_bars(axis, places, members, "gap", "#222222")
        for place, gap in zip(places, members["gap"]):
            axis.annotate(f"{gap:.3g}", (place, gap), (0, 2), textcoords="offset points", ha="center", fontsize=6.5)
        if len(bounds) > 1:
            for column, marker in zip(bounds.values(), ("_", "v", "^", "D", "X")):
                axis.plot(places, members[column] / members["bound_ns"], marker, color="black", markersize=4)
        axis.set_xticks(places, [factor.replace(" ", "\n") for factor in members["factor"]], fontsize=8)
        axis.grid(False, axis="x")
        title_panel(axis, name, 9)
        axis.set_xlabel("oversubscription factor")
        ratio_scale(axis, list(runs["gap"]) + [0.6])  # one scale for all panels, which stand side by side
        if axis.get_subplotspec().is_first_col():
            axis.set_ylabel("time / lower bound (×)")
    handles = [Patch(color=COLOURS[0]), Patch(facecolor="#bcd9ec", hatch="////", edgecolor=COLOURS[0])]
    texts = ["largest lower bound" if len(bounds) > 1 else f"lower bound ({IDEAL})", "gap to the simulated time"]
    if len(bounds) > 1:
        handles += [
            Line2D([], [], color="black", marker=marker, linestyle="")
            for marker in ("_", "v", "^", "D", "X")[: len(bounds)]
        ]
        texts += list(bounds)
    arrange(figure, title, handles, texts)
    return save_figure(figure, path, made_by=made_by_text(runs))


def main(arguments=None):
    return figure_command("plot_bounds", __doc__, lambda frame, _: (gaps_of(frame),), tables, draw, arguments)


if __name__ == "__main__":
    sys.exit(main())
