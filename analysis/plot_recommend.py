# SPDX-License-Identifier: Apache-2.0
"""Draws placements of embedding tables: time of a step, bytes by tier, hit rate and amplification of each.

    python3 -m analysis.plot_recommend STUDY... -o figure.png      STUDY: a file of `uvmsim recommend --json`
    python3 -m analysis.plot_recommend STUDY... --table

A row of three panels per study. Placements that had no room on the system are named without bars.
"""

import sys

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.result_file import read_result
from analysis.style import COLOURS, arrange, grid_of, load_pyplot, save_figure

SCHEMA = "uvmsim.recommend/1"
TIERS = (
    ("device_bytes", "GPU memory", {"facecolor": COLOURS[0]}),
    ("host_to_device_bytes", "host to GPU", {"facecolor": COLOURS[1], "hatch": "////"}),
    ("device_to_host_bytes", "GPU to host", {"facecolor": COLOURS[5], "hatch": "\\\\\\\\"}),
    ("ssd_read_bytes", "from the SSD", {"facecolor": COLOURS[2], "hatch": "...."}),
    ("ssd_written_bytes", "to the SSD", {"facecolor": COLOURS[3], "hatch": "xx"}),
)


def read_study(path):
    """Returns the study in a file of schema uvmsim.recommend/1. Raises ResultError."""
    return read_result(path, SCHEMA, "of `uvmsim recommend --json`")


def title_of(study):
    mode = "training" if study["training"] else "inference"
    gpu = study["gpu_bytes"] / (1 << 30)
    return f"{study['workload']}, {mode}, {study['system']}, {gpu:,.1f} GiB of GPU memory for tables"


def hit_rate(result):
    """Returns the hit rate, None without a cache."""
    return result["hit_thousandths"] / 1000 if result["cache_rows"] else None


def table_lines(studies):
    for study in studies:
        yield title_of(study)
        moved = "".join(f"{text + ' (MiB)':>20}" for _, text, _ in TIERS)
        yield f"{'placement':22}{'step (ms)':>12}{'hit rate':>10}{'link / rows':>13}{moved}"
        for result in study["placements"]:
            if result["refused"]:
                yield f"{result['placement']:22}{'–':>12}"
                continue
            hits = hit_rate(result)
            cells = f"{result['step_ns'] / 1e6:>12.3f}{'–' if hits is None else format(hits, '.3f'):>10}"
            cells += f"{result['amplification_thousandths'] / 1000:>13.3f}"
            for key, _, _ in TIERS:
                cells += f"{result[key] / result['steps'] / (1 << 20):>20.3f}"
            yield f"{result['placement']:22}{cells}"


def log_scale(axis):
    """Sets a logarithmic axis with plain numbers at the decades."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def bar_axis(axis, names, label, show_names):
    axis.set_yticks(range(len(names)), names if show_names else [""] * len(names))
    axis.grid(False, axis="y")
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel(label)


def draw_times(axis, results, names):
    ran = [(place, result) for place, result in enumerate(results) if not result["refused"]]
    times = [result["step_ns"] / 1e6 for _, result in ran]
    axis.barh([place for place, _ in ran], times, 0.7, color=COLOURS[0], edgecolor="white")
    if times:
        log_scale(axis)
        axis.set_xlim(min(times) / 1.5, max(times) * 4)
    for (place, _), time in zip(ran, times):
        axis.annotate(f"{time:,.3f}" if time < 10 else f"{time:,.0f}", (time, place), (2, 0), textcoords="offset points", va="center", fontsize=7)
    bar_axis(axis, names, "time of a step (ms)", True)


def draw_bytes(axis, results, names):
    height = 0.8 / len(TIERS)
    for number, (key, _, tier_look) in enumerate(TIERS):
        bars = [
            (place + (number - (len(TIERS) - 1) / 2) * height, result[key] / result["steps"] / (1 << 20))
            for place, result in enumerate(results)
            if not result["refused"] and result[key]
        ]
        if bars:
            axis.barh([at for at, _ in bars], [size for _, size in bars], height, edgecolor="white", linewidth=0.3,
                      **tier_look)  # fmt: skip
    log_scale(axis)
    bar_axis(axis, names, "moved in a step (MiB)", False)


def draw_ratios(axis, results, names):
    """Draws the amplification as bars, and the hit rate of caches as text beside them."""
    ran = [(place, result) for place, result in enumerate(results) if not result["refused"]]
    sizes = [result["amplification_thousandths"] / 1000 for _, result in ran]
    shown = [(place, size) for (place, _), size in zip(ran, sizes) if size]
    axis.barh([at for at, _ in shown], [size for _, size in shown], 0.7, color=COLOURS[4], edgecolor="white")
    if shown:
        log_scale(axis)
        axis.set_xlim(min(min(size for _, size in shown), 0.1) / 2, max(size for _, size in shown) * 30)
    for (place, result), size in zip(ran, sizes):
        hits = hit_rate(result)
        text = f"{size:,.3g}" + ("" if hits is None else f", hits {hits:.1%}")
        at = size or axis.get_xlim()[0]
        axis.annotate(text, (at, place), (2, 0), textcoords="offset points", va="center", fontsize=7)
    bar_axis(axis, names, "bytes over the link / bytes of the rows", False)


def draw(studies, path, dpi=None):
    from matplotlib.patches import Patch

    pyplot = load_pyplot()
    most = max(len(study["placements"]) for study in studies)
    figure, axes = grid_of(pyplot, 3 * len(studies), columns=3, width=3.6, height=0.26 * most + 0.8)
    for number, study in enumerate(studies):
        results = study["placements"]
        if not results:
            raise ResultError("a study without placements: there is nothing to draw")
        names = [f"{one['placement']}{' (no room)' if one['refused'] else ''}" for one in results]
        times, moved, ratios = axes[3 * number : 3 * number + 3]
        draw_times(times, results, names)
        draw_bytes(moved, results, names)
        draw_ratios(ratios, results, names)
        times.set_title(title_of(study), loc="left", fontsize=8)
    handles = [Patch(linewidth=0.3, edgecolor="white", **tier_look) for _, _, tier_look in TIERS]
    arrange(figure, "", handles, [text for _, text, _ in TIERS])
    return save_figure(figure, path, dpi)


def main(arguments=None):
    parser = parser_of("plot_recommend", __doc__)
    parser.add_argument("studies", nargs="+", metavar="STUDY", help="a file of `uvmsim recommend --json`")
    parser.add_argument("-o", "--figure", metavar="FIGURE", help="write FIGURE.png and FIGURE.pdf")
    parser.add_argument("--table", action="store_true", help="print the numbers (default without -o)")
    parser.add_argument("--dpi", type=int, metavar="N", help="pixels per inch of the PNG (default 200)")
    given = parser.parse_args(arguments)

    def work():
        studies = [read_study(path) for path in given.studies]
        try:
            if given.table or not given.figure:
                print("\n".join(list(table_lines(studies))))
            if given.figure:
                for path in draw(studies, given.figure, given.dpi):
                    print(f"figure: {path}")
        except (KeyError, TypeError, AttributeError) as error:
            raise ResultError(f"{', '.join(given.studies)}: no whole study of uvmsim: {error!r}") from error

    return run("plot_recommend", work)


if __name__ == "__main__":
    sys.exit(main())
