# SPDX-License-Identifier: Apache-2.0
"""Slowdown and traffic against the oversubscription factor, of any results.

    python3 -m analysis.plot_osf RESULTS... -o figure.png    figure.png and figure.pdf
    python3 -m analysis.plot_osf RESULTS... --table          the numbers; --latex: as a LaTeX table

Runs that differ only in their limit form one series, so results of several programs, systems or policies can be
compared in one figure; several programs get a pair of panels each. Times are those of the settled iteration, or of the
whole run when the trace marks none. A run that has not settled has a hollow marker, at the mean of the later half of its
passes, and bars from the shortest to the longest. The slowdown is against one run per program and system: the driver's
own policies with room for all. Results that do not hold that run are refused. A band shows what `uvmsim run
--uncertainty` found: the slowdown on the fastest and the slowest machine that the system may stand for.
"""

import sys

import pandas

from analysis.command import figure_command
from analysis.frame import made_by_text
from analysis.series import (
    BASELINE,
    HYPOTHETICAL,
    band,
    error_bars,
    labels,
    mark_unsettled,
    period_of,
    points_of,
    require_baseline,
    series_of,
    slowdown_axis,
    unsettled_text,
)
from analysis.style import (
    COLOURS,
    GREY,
    arrange,
    axis_label,
    columns_of,
    factor_ticks,
    figure_size,
    load_pyplot,
    look,
    ratio_scale,
    require_few,
    save_figure,
    title_panel,
)
from analysis.tables import Table

GIB = 1 << 30
HEADINGS = [
    "OSF",
    ("GPU memory", "GiB"),
    ("time", "ms"),
    ("slowdown", "×"),
    "fault batches",
    ("evictions", "2 MiB"),
    ("to GPU", "GiB"),
    ("to host", "GiB"),
]
SEEDS_HEADING = ("of all seeds", "×")  # the smallest and the largest slowdown
MACHINES_HEADING = ("on other machines", "×")  # `uvmsim run --uncertainty`
UNSETTLED_HEADING = ("not settled", "mean of iterations, ms")


def tables(points):
    """Returns a table per series. Points of several seeds are means, with the range of their slowdowns."""
    require_baseline(points)
    series = series_of(points)
    title, names = labels([identity for identity, _ in series])
    made = []
    for name, (_, members) in zip(names, series):
        further = further_columns(members)
        table = Table(name if len(series) > 1 else "", HEADINGS + [heading for heading, _ in further])
        for point in members.itertuples():
            table.add(
                f"{point.osf:g}",
                f"{point.capacity_bytes / GIB:.2f}",
                f"{point.duration_ns / 1e6:.1f}",
                f"{point.slowdown:.2f}",
                f"{point.fault_batches:.0f}",
                f"{point.evictions:.0f}",
                f"{point.htod_gib:.1f}",
                f"{point.dtoh_gib:.1f}",
                *(text(point) for _, text in further),
            )
        made.append(table)
    room = f" ({HYPOTHETICAL})" if points["baseline_hypothetical"].any() else ""
    return f"{title}\nslowdown against {BASELINE}{room}; numbers {period_of(points)}", made


def further_columns(points):
    """Returns [(heading, text of a point)] of columns that not all results have: other seeds, other machines, runs that
    have not settled."""
    further = []
    if points["seed"].astype(str).str.startswith("mean").any():
        further.append((SEEDS_HEADING, lambda point: f"{point.slowdown_low:.2f}–{point.slowdown_high:.2f}"))
    if "uncertain_slowdown_low" in points and points["uncertain_slowdown_low"].notna().all():
        further.append(
            (MACHINES_HEADING, lambda point: f"{point.uncertain_slowdown_low:.2f}–{point.uncertain_slowdown_high:.2f}")
        )
    if points["is_settled"].eq(False).any():
        further.append((UNSETTLED_HEADING, unsettled_text))
    return further


def annotate(axis, points):
    """Writes the slowdown beside its point if there is room."""
    lowest = None
    for point in reversed(list(points.itertuples())):
        if lowest is not None and point.osf > lowest / 1.18:
            continue
        lowest = point.osf
        axis.annotate(
            f"{point.slowdown:.3g}×",
            (point.osf, point.slowdown),
            textcoords="offset points",
            xytext=(-4, 7),
            horizontalalignment="center",
            fontsize=8,
        )


def plot_traffic(axis, points, look_to_gpu, look_to_host):
    axis.plot(points["osf"], points["htod_gib"], markersize=6.5, **look_to_gpu)
    # Small and hollow: both markers stay visible where the directions move the same amount.
    axis.plot(
        points["osf"], points["dtoh_gib"], linestyle="--", markerfacecolor="white", markersize=3.5, **look_to_host
    )
    error_bars(axis, points["osf"], points, "htod_gib", look_to_gpu["color"])
    error_bars(axis, points["osf"], points, "dtoh_gib", look_to_host["color"])


def draw_one(pyplot, title, points):
    """Draws one series: wide, with its numbers written in, and a colour per direction."""
    figure, (top, bottom) = pyplot.subplots(
        2, 1, figsize=figure_size(6.4, 6.0), gridspec_kw={"height_ratios": (3, 2)}, constrained_layout=True
    )
    top.plot(points["osf"], points["slowdown"], **look(0))
    error_bars(top, points["osf"], points, "slowdown", look(0)["color"])
    mark_unsettled(top, points, "slowdown", look(0)["color"])
    if band(top, points, look(0)["color"]):
        top.legend(loc="lower right")
    plot_traffic(
        bottom,
        points,
        {"color": COLOURS[0], "marker": "o", "label": "host to GPU"},
        {"color": COLOURS[1], "marker": "s", "label": "GPU to host"},
    )
    annotate(top, points)
    bottom.legend()
    finish_panels(top, bottom, points)
    title_panel(top, title)
    top.set_ylabel(axis_label(slowdown_axis(points)))
    bottom.set_ylabel(axis_label(f"data moved (GiB {period_of(points)})".replace(", ", ",\n")))
    bottom.set_xlabel("oversubscription factor (footprint / GPU memory)")
    return figure


def finish_panels(top, bottom, points, narrow=False):
    top.axhline(1, color="#888888", linewidth=0.8, zorder=0)
    highest = [name for name in ("slowdown_high", "uncertain_slowdown_high") if name in points]
    ratio_scale(top, [value for name in ["slowdown", *highest] for value in points[name].dropna()] + [1])
    bottom.set_ylim(0, 1.08 * max(points["htod_gib"].max(), points["dtoh_gib"].max(), 1e-3))
    factor_ticks(top, points["osf"], labelled=False, narrow=narrow)
    factor_ticks(bottom, points["osf"], narrow=narrow)


def draw_several(pyplot, points):
    """Draws a pair of panels per program; a colour and marker per series, the direction by the line."""
    from matplotlib.lines import Line2D

    programs = list(dict.fromkeys(points["program"]))
    apart_from = ("program", "trace", "length") if len(programs) > 1 else ()
    kinds = [identity for identity, _ in series_of(points, apart_from)]
    require_few(len(kinds), "series")
    title, names = labels(kinds)
    columns = columns_of(min(3, len(programs)))
    rows = -(-len(programs) // columns)
    figure, axes = pyplot.subplots(
        2 * rows,
        columns,
        figsize=figure_size(6.4 if columns == 1 else 2.7 * columns + 0.5, (5.6 if rows == 1 else 4.2 * rows) + 0.6),
        squeeze=False,
        gridspec_kw={"height_ratios": (3, 2) * rows},
    )
    for place in range(rows * columns):
        top, bottom = (axes[2 * (place // columns) + half][place % columns] for half in (0, 1))
        if place >= len(programs):
            top.remove()
            bottom.remove()
            continue
        of_program = points[points["program"] == programs[place]]
        series = series_of(of_program, apart_from)
        drawn = pandas.concat([members for _, members in series])
        for identity, members in series:
            style = look(kinds.index(identity))
            top.plot(members["osf"], members["slowdown"], **style)
            error_bars(top, members["osf"], members, "slowdown", style["color"])
            mark_unsettled(top, members, "slowdown", style["color"])
            band(top, members, style["color"])
            plot_traffic(bottom, members, style, style)
        finish_panels(top, bottom, drawn, narrow=columns > 1)
        title_panel(top, programs[place] if len(programs) > 1 else title)
        if place % columns == 0:
            top.set_ylabel(axis_label(slowdown_axis(points)))
            bottom.set_ylabel(axis_label(f"data moved (GiB {period_of(points)})".replace(", ", ",\n")))
        bottom.set_xlabel("oversubscription factor")
    handles = [Line2D([], [], **look(number)) for number in range(len(kinds))] if len(kinds) > 1 else []
    texts = list(names) if len(kinds) > 1 else []
    handles += [
        Line2D([], [], color=GREY, marker="o", markersize=6.5),
        Line2D([], [], color=GREY, marker="o", markersize=3.5, markerfacecolor="white", linestyle="--"),
    ]
    arrange(
        figure,
        title if len(programs) > 1 else "",
        handles,
        texts + ["data moved: host to GPU", "data moved: GPU to host"],
    )
    return figure


def draw(points, path):
    require_baseline(points)
    pyplot = load_pyplot()
    series = series_of(points)
    if len(series) == 1:
        identity, members = series[0]
        figure = draw_one(pyplot, labels([identity])[0], members)
    else:
        figure = draw_several(pyplot, points)
    return save_figure(figure, path, made_by=made_by_text(points))


def main(arguments=None):
    return figure_command(
        "plot_osf",
        __doc__,
        lambda frame, _: (points_of(frame),),
        tables,
        draw,
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
