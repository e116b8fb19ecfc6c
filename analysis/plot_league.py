# SPDX-License-Identifier: Apache-2.0
"""Draws a league: who leads over all programs, and where each policy's time goes in every contest.

    python3 -m analysis.plot_league LEAGUE -o figure.png      LEAGUE: the folder of `uvmsim league`, or its league.json
    python3 -m analysis.plot_league LEAGUE --table

FIGURE shows the overall ranking: the geometric mean of time over that under the driver's own policies, with the
programs' range; left of 1 is faster. Times are those of settled iterations where a number of iterations was asked for, else
of whole runs; who has not settled is marked. FIGURE_contests shows each contest's whole runs as bars: the lower bound (computing and
necessary bytes), then what lies between it and the time (excess bytes, fault latency, serialisation). Policies that know
the future stand apart, below; those of plug-ins are marked. Only finished runs are drawn.
"""

import os
import sys

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.result_file import read_result
from analysis.style import COLOURS, GREY, arrange, figure_paths, grid_of, load_pyplot, save_figure

SCHEMA = "uvmsim.league/2"
PARTS = (
    ("compute_ns", "computing", {"facecolor": "#bbbbbb"}),
    ("necessary_bytes_ns", "necessary bytes", {"facecolor": COLOURS[0]}),
    ("excess_bytes_ns", "excess bytes", {"facecolor": COLOURS[5], "hatch": "////"}),
    ("fault_latency_ns", "fault latency", {"facecolor": COLOURS[1], "hatch": "...."}),
    ("serialisation_ns", "serialisation", {"facecolor": COLOURS[4], "hatch": "\\\\\\\\"}),
)
# Longer bars, in multiples of the driver's, are cut, with their length beside them.
LONGEST = 3


def read_league(path):
    """Returns the league in a folder or file of schema uvmsim.league/2. Raises ResultError."""
    if os.path.isdir(path):
        path = os.path.join(path, "league.json")
    return read_result(path, SCHEMA, "league.json of `uvmsim league`")


def name_of(entrant):
    mark = ", not settled" if is_unsettled(entrant) else ""
    return f"{'▶ ' if entrant['plugin'] else ''}{entrant['name']} ({entrant['information_class'] or '–'}{mark})"


def is_unsettled(entrant):
    """Returns whether a standing should have settled and did not, or an overall standing in some contest."""
    return entrant.get("is_settled") is False or entrant.get("unsettled", 0) > 0


def ranked(entrants):
    return [one for one in entrants if one["rank"] is not None]


def print_table(league):
    print(f"{league['rule']}; contests counted: {league['counted_contests']}")
    names = [name_of(one) for one in league["overall"]]
    width = max(map(len, names), default=0)
    for name, one in zip(names, league["overall"]):
        rank = "–" if one["rank"] is None else ("o" if one["oracle"] else "") + str(one["rank"])
        mean = one["over_driver_millionths"]
        factor = "–" if mean is None else format(mean / 1e6, ".3f")
        print(f"{rank:>4}  {name:{width}}  {factor:>7}  learning {one['learning_iterations']}")


def mark_names(axis, places, entrants):
    axis.set_yticks(places, [name_of(one) for one in entrants], fontsize=7)
    for label, one in zip(axis.get_yticklabels(), entrants):
        if one["plugin"]:
            label.set_fontweight("bold")
    axis.grid(False, axis="y")
    axis.invert_yaxis()


def places_of(entrants):
    """Returns vertical positions, with the policies that know the future slightly apart."""
    return [number + (0.8 if one["oracle"] else 0) for number, one in enumerate(entrants)]


def factor_axis(axis, values):
    """Draws factors from left to right: logarithmic with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = min([*values, 0.95]), max([*values, 1.05])
    axis.set_xscale("log")
    axis.set_xlim(low / 1.08, high * 1.08)
    subs = (1,) if high / low > 100 else (1, 2, 5) if high / low > 3 else (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3)
    axis.xaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def made_by(league):
    return f"uvmsim league  # uvmsim_version {league['uvmsim_version']}, model_version {league['model_version'][:12]}"


def draw_overall(league, path):
    entrants = ranked(league["overall"])
    if not entrants:
        raise ResultError("no policy finished all contests: there is no overall ranking to draw")
    pyplot = load_pyplot()
    figure, (axis,) = grid_of(pyplot, 1, columns=1, width=5.6, height=0.175 * len(entrants) + 0.7)
    places = places_of(entrants)
    means = [one["over_driver_millionths"] / 1e6 for one in entrants]
    best = [one["best_over_driver_thousandths"] / 1e3 for one in entrants]
    worst = [one["worst_over_driver_thousandths"] / 1e3 for one in entrants]
    axis.hlines(places, best, worst, color=GREY, linewidth=1.2)
    handles = [pyplot.Line2D([], [], color=GREY, linewidth=1.2)]
    texts = ["best to worst contest"]
    kinds = (
        ("geometric mean", "o", COLOURS[0], lambda one: not one["oracle"] and not one["plugin"]),
        ("the same, policy of a plug-in", "s", COLOURS[1], lambda one: one["plugin"]),
        ("the same, knows the future (D4)", "D", COLOURS[2], lambda one: one["oracle"] and not one["plugin"]),
    )
    for text, marker, colour, belongs in kinds:
        chosen = [(mean, place) for mean, place, one in zip(means, places, entrants) if belongs(one)]
        if chosen:
            (drawn,) = axis.plot(*zip(*chosen), marker, color=colour, markeredgecolor="white", markersize=6)
            handles.append(drawn)
            texts.append(text)
    axis.axvline(1, color="#444444", linewidth=0.8)
    factor_axis(axis, best + worst)
    mark_names(axis, places, entrants)
    axis.set_xlabel("time / time under the driver's own policies (×)")
    axis.set_title(f"overall, contests: {league['counted_contests']}")
    arrange(figure, "", handles, texts)
    return save_figure(figure, path, made_by=made_by(league))


def draw_contest(axis, contest, with_unit):
    entrants = ranked(contest["standings"])
    places = places_of(entrants)
    driver = contest["driver_total_ns"] or max(one["total_ns"] for one in entrants)
    longest = LONGEST * driver
    begins = [0] * len(entrants)
    for key, _, look in PARTS:
        widths = [min(one[key], max(longest - begin, 0)) for one, begin in zip(entrants, begins)]
        axis.barh(places, [width / 1e6 for width in widths], 0.75, [begin / 1e6 for begin in begins], linewidth=0.4,
                  edgecolor="white", **look)  # fmt: skip
        begins = [begin + one[key] for one, begin in zip(entrants, begins)]
    cut = [(one, place) for one, place in zip(entrants, places) if one["total_ns"] > longest]
    for one, place in cut:
        axis.annotate(f"{one['total_ns'] / 1e6:,.0f} »", (longest / 1e6, place), (-2, 0), textcoords="offset points",
                      ha="right", va="center", fontsize=6, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
    axis.axvline(contest["bound_ns"] / 1e6, color="black", linewidth=0.9, linestyle="--")
    axis.axvline(driver / 1e6, color="#444444", linewidth=0.8)
    axis.set_xlim(0, min(max(one["total_ns"] for one in entrants), longest) * 1.03 / 1e6)
    mark_names(axis, places, entrants)
    axis.set_title(contest["label"], fontsize=7.5, loc="right")
    if with_unit:
        axis.set_xlabel("time of the whole run (ms)")


def draw_contests(league, path):
    from matplotlib.patches import Patch

    contests = [contest for contest in league["contests"] if ranked(contest["standings"])]
    if not contests:
        raise ResultError("no finished run to draw")
    pyplot = load_pyplot()
    most = max(len(ranked(contest["standings"])) for contest in contests)
    figure, axes = grid_of(pyplot, len(contests), columns=2, width=4.2, height=0.15 * most + 0.75)
    for axis, contest in zip(axes, contests):
        draw_contest(axis, contest, axis.get_subplotspec().is_last_row() or len(contests) < 3)
    handles = [Patch(linewidth=0.4, edgecolor="white", **look) for _, _, look in PARTS]
    handles += [
        pyplot.Line2D([], [], color="black", linewidth=0.9, linestyle="--"),
        pyplot.Line2D([], [], color="#444444", linewidth=0.8),
    ]
    texts = [text for _, text, _ in PARTS] + ["lower bound", "driver's own policies"]
    arrange(figure, "", handles, texts)
    return save_figure(figure, path, made_by=made_by(league))


def draw(league, path):
    stem, ending = os.path.splitext(figure_paths(path)[0])
    return draw_overall(league, stem + ending) + draw_contests(league, f"{stem}_contests{ending}")


def main(arguments=None):
    parser = parser_of("plot_league", __doc__)
    parser.add_argument("league", metavar="LEAGUE", help="the folder of `uvmsim league`, or its league.json")
    parser.add_argument("-o", "--figure", metavar="FIGURE", help="write FIGURE and FIGURE_contests, as PNG and PDF")
    parser.add_argument("--table", action="store_true", help="print the overall ranking (default without -o)")
    given = parser.parse_args(arguments)

    def work():
        league = read_league(given.league)
        try:
            if given.table or not given.figure:
                print_table(league)
            if given.figure:
                for path in draw(league, given.figure):
                    print(f"figure: {path}")
        except (KeyError, TypeError, AttributeError) as error:
            raise ResultError(f"{given.league}: not a whole league of uvmsim: {error!r}") from error

    return run("plot_league", work)


if __name__ == "__main__":
    sys.exit(main())
