# SPDX-License-Identifier: Apache-2.0
"""Draws an answer of `uvmsim fit`: how long a program takes on each machine, and how far it is from what it needs.

    python3 -m analysis.plot_fit FIT.json -o figure.png
    python3 -m analysis.plot_fit FIT.json --table

Left: the time of an iteration (or of the run), with its range; machines that do not hold the program are hatched. Right:
footprint / memory of each machine (a mark) and the largest such factor within the budget (a bar): a mark within its bar
will do.
"""

import sys

from analysis.command import add_figure, parser_of, run
from analysis.errors import ResultError
from analysis.result_file import read_result
from analysis.style import COLOURS, GREY, arrange, grid_of, load_pyplot, save_figure, set_width
from analysis.tables import Table, print_tables

SCHEMA = "uvmsim.fit/1"
LARGEST = 4000


def read_fit(path):
    """Returns the answer in a file of schema uvmsim.fit/1. Raises ResultError."""
    answer = read_result(path, SCHEMA, "the file of `uvmsim fit --json`")
    if not answer.get("machines"):
        raise ResultError(f"{path}: an answer without machines")
    return answer


def table_of(answer):
    table = Table("", ("system", "factor", "fits", ("time", "ms"), ("range", "ms"), "slowdown", "largest factor"), texts=1)
    for one in answer["machines"]:
        largest = one["affordable_osf_thousandths"]
        table.add(
            one["system"],
            f"{one['osf_thousandths'] / 1000:.3f}",
            "yes" if one["fits"] else "no",
            f"{one['time_ns'] / 1e6:.3f}",
            f"{one['low_ns'] / 1e6:.3f}-{one['high_ns'] / 1e6:.3f}",
            f"{one['slowdown_thousandths'] / 1000:.3f}{'' if one['is_settled'] else '*'}",
            f"{'at least ' if largest == LARGEST else ''}{largest / 1000:.2f}",
        )
    return table


def draw(answer, path, dpi=None):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    pyplot = load_pyplot()
    machines = answer["machines"]
    figure, (times, factors) = grid_of(pyplot, 2, columns=2, width=3.8, height=0.3 * len(machines) + 0.9)
    places = range(len(machines))
    for place, one in zip(places, machines):
        low, high, time = one["low_ns"] / 1e6, one["high_ns"] / 1e6, one["time_ns"] / 1e6
        times.barh(place, time, 0.65, color=COLOURS[0 if one["fits"] else 1], edgecolor="white", hatch="" if one["fits"] else "////")
        times.errorbar(time, place, xerr=[[max(time - low, 0)], [max(high - time, 0)]], color="black", capsize=2, linewidth=0.9)
        factors.barh(place, one["affordable_osf_thousandths"] / 1000, 0.65, color=COLOURS[2], edgecolor="white")
        factors.plot(one["osf_thousandths"] / 1000, place, marker="D", color="black", markersize=4)
    names = [one["system"] + ("" if one["is_settled"] else " (not settled)") for one in machines]
    for axis, labels in ((times, names), (factors, [""] * len(names))):
        axis.set_yticks(list(places), labels, fontsize=7)
        axis.grid(False, axis="y")
        axis.invert_yaxis()
    times.set_xlabel("time (ms)")
    factors.set_xlabel("footprint / memory")
    factors.axvline(1, color=GREY, linewidth=0.8)
    handles = [Patch(facecolor=COLOURS[0]), Patch(facecolor=COLOURS[1], hatch="////", edgecolor="white"), Patch(facecolor=COLOURS[2]),
               Line2D([], [], marker="D", color="black", linestyle="")]  # fmt: skip
    budget = answer["budget_thousandths"] / 1000
    arrange(figure, f"{answer['trace']['file']}, layout {answer['layout']}", handles,
            ["holds it", "does not hold it", f"within {budget:g} times the time", "this program"])  # fmt: skip
    return save_figure(figure, path, dpi)


def main(arguments=None):
    parser = parser_of("plot_fit", __doc__)
    parser.add_argument("fit", metavar="FIT", help="the file of `uvmsim fit --json`")
    add_figure(parser)
    parser.add_argument("--table", action="store_true", help="print the numbers (default without -o)")
    given = parser.parse_args(arguments)

    def work():
        answer = read_fit(given.fit)
        set_width(given.width)
        try:
            if given.table or not given.figure:
                print_tables(f"{answer['trace']['file']}, layout {answer['layout']}", [table_of(answer)])
            if given.figure:
                for path in draw(answer, given.figure):
                    print(f"figure: {path}")
        except (KeyError, TypeError, AttributeError) as error:
            raise ResultError(f"{given.fit}: no whole answer of uvmsim fit: {error!r}") from error

    return run("plot_fit", work)


if __name__ == "__main__":
    sys.exit(main())
