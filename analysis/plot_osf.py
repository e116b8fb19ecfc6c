# SPDX-License-Identifier: Apache-2.0
"""Slowdown and traffic against the oversubscription factor, of any results.

    python3 -m analysis.plot_osf RESULTS... -o figure.png    figure.png and figure.pdf
    python3 -m analysis.plot_osf RESULTS... --table          the numbers

Runs that differ only in their limit form one series, so results of several programs, systems or policies can be
compared in one figure; several programs get a pair of panels each. Times are those of the settled iteration, or of the
whole run when the trace marks none. The slowdown is against one run per program and system: the driver's own policies
with the GPU's whole memory. Results that do not hold that run are refused.
"""

import sys

import pandas

from analysis.command import figure_command
from analysis.frame import made_by_text
from analysis.series import (
    BASELINE,
    SLOWDOWN_AXIS,
    error_bars,
    labels,
    period_of,
    points_of,
    require_baseline,
    series_of,
)
from analysis.style import COLOURS, GREY, arrange, factor_ticks, load_pyplot, look, ratio_scale, save_figure

GIB = 1 << 30
HEADER = (
    "  OSF  GPU memory       time  slowdown  fault batches  evictions  to GPU  to host\n"
    "             GiB         ms                            (2 MiB)     GiB      GiB"
)


def print_table(points):
    require_baseline(points)
    series = series_of(points)
    title, names = labels([identity for identity, _ in series])
    print(title)
    print(f"slowdown against {BASELINE}; numbers {period_of(points)}")
    for name, (_, points) in zip(names, series):
        if len(series) > 1:
            print(f"\n{name}")
        print(HEADER)
        for point in points.itertuples():
            print(
                f"{point.osf:5g}  {point.capacity_bytes / GIB:10.2f}  {point.duration_ns / 1e6:9.1f}"
                f"  {point.slowdown:7.2f}x  {point.fault_batches:13d}  {point.evictions:9d}"
                f"  {point.htod_gib:6.1f}  {point.dtoh_gib:7.1f}"
            )


def annotate(axis, points):
    """Writes the slowdown beside its point, where there is room."""
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
    # Small and hollow: both stay visible where the directions move the same.
    axis.plot(
        points["osf"], points["dtoh_gib"], linestyle="--", markerfacecolor="white", markersize=3.5, **look_to_host
    )
    error_bars(axis, points["osf"], points, "htod_gib", look_to_gpu["color"])
    error_bars(axis, points["osf"], points, "dtoh_gib", look_to_host["color"])


def draw_one(pyplot, title, points):
    """One series: wide, with its numbers written in, a colour per direction."""
    figure, (top, bottom) = pyplot.subplots(
        2, 1, figsize=(6.4, 6.0), gridspec_kw={"height_ratios": (3, 2)}, constrained_layout=True
    )
    top.plot(points["osf"], points["slowdown"], **look(0))
    error_bars(top, points["osf"], points, "slowdown", look(0)["color"])
    plot_traffic(
        bottom,
        points,
        {"color": COLOURS[0], "marker": "o", "label": "host to GPU"},
        {"color": COLOURS[1], "marker": "s", "label": "GPU to host"},
    )
    annotate(top, points)
    bottom.legend()
    finish_panels(top, bottom, points)
    top.set_title(title)
    top.set_ylabel(SLOWDOWN_AXIS)
    bottom.set_ylabel(f"data moved (GiB {period_of(points)})".replace(", ", ",\n"))
    bottom.set_xlabel("oversubscription factor (footprint / GPU memory)")
    return figure


def finish_panels(top, bottom, points, narrow=False):
    top.axhline(1, color="#888888", linewidth=0.8, zorder=0)
    ratio_scale(top, list(points["slowdown"]) + [1])
    bottom.set_ylim(0, 1.08 * max(points["htod_gib"].max(), points["dtoh_gib"].max(), 1e-3))
    factor_ticks(top, points["osf"], labelled=False, narrow=narrow)
    factor_ticks(bottom, points["osf"], narrow=narrow)


def draw_several(pyplot, points):
    """A pair of panels per program; a colour and marker per series, the direction by the line."""
    from matplotlib.lines import Line2D

    programs = list(dict.fromkeys(points["program"]))
    apart_from = ("program", "trace", "length") if len(programs) > 1 else ()
    kinds = [identity for identity, _ in series_of(points, apart_from)]
    title, names = labels(kinds)
    columns = min(3, len(programs))
    rows = -(-len(programs) // columns)
    figure, axes = pyplot.subplots(
        2 * rows,
        columns,
        figsize=(6.4 if columns == 1 else 2.7 * columns + 0.5, (5.6 if rows == 1 else 4.2 * rows) + 0.6),
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
            plot_traffic(bottom, members, style, style)
        finish_panels(top, bottom, drawn, narrow=columns > 1)
        top.set_title(programs[place] if len(programs) > 1 else title)
        if place % columns == 0:
            top.set_ylabel(SLOWDOWN_AXIS)
            bottom.set_ylabel(f"data moved (GiB {period_of(points)})".replace(", ", ",\n"))
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
        print_table,
        draw,
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
