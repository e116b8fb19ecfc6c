"""Slowdown and traffic against the oversubscription factor.

    python3 -m analysis.plot_osf results/*.json -o figure.png    figure.png and figure.pdf
    python3 -m analysis.plot_osf results/*.json --table          the numbers

The files are what `uvmsim run --json` writes, one or more runs each. Runs that differ only in their limit form one
series, so results of several programs, systems or policies can be compared in one figure. Times are those of the
settled iteration, or of the whole run when the trace marks none. The slowdown is against the same program with no limit
(the GPU's own memory); where a result does not hold that, against the run of its series with the lowest factor.
"""

import argparse
import sys

from analysis.results import ResultError, load_results, settled_counters, settled_ns, total_bytes, unlimited_ns
from analysis.style import COLOURS, MARKERS, load_pyplot, save_figure

GIB = 1 << 30
TITLE_PARTS = ("program", "system", "prefetch", "evict")


def identity(result):
    """What the runs of one series share, as (name, text) pairs; the order is that of the labels."""
    pairs = [
        ("program", result["trace"]["file"].removesuffix(".uvmt")),
        ("system", result["system"].get("name", "unnamed system")),
        ("layout", f"layout {result['layout']}"),
    ]
    for slot, used in sorted(result["policies"].items()):
        parameters = ",".join(f"{key}={value}" for key, value in used["parameters"].items())
        pairs.append((slot, f"{slot} {used['name']}"))
        pairs.append((f"{slot} parameters", parameters))
    pairs.append(("seed", f"seed {result['seed']}"))
    pairs.append(("gaps", "with host gaps" if result["include_host_gaps"] else "no host gaps"))
    pairs.append(("trace", result["trace"]["sha256"][:8]))
    return tuple(pairs)


def osf_of(result):
    """The factor as asked for; capacity is whole 2 MB chunks, so the one in force differs a little."""
    return (result["limit"]["osf_thousandths"] or result["osf_thousandths"]) / 1000


def point_of(result, baseline_ns):
    counters = settled_counters(result)
    return {
        "osf": osf_of(result),
        "capacity_gib": result["capacity_bytes"] / GIB,
        "time_ms": settled_ns(result) / 1e6,
        "slowdown": settled_ns(result) / baseline_ns,
        "fault_batches": counters["fault_batches"],
        "evictions": counters["evictions"],
        "htod_gib": total_bytes(counters, "htod") / GIB,
        "dtoh_gib": total_bytes(counters, "dtoh") / GIB,
    }


def series_of(results):
    """[(identity, points by rising factor)], in the order in which the series appear."""
    groups = {}
    for result in results:
        groups.setdefault(identity(result), []).append(result)
    series = []
    for key, members in groups.items():
        members.sort(key=osf_of)
        known = [unlimited_ns(result) for result in members if unlimited_ns(result)]
        baseline_ns = known[0] if known else settled_ns(members[0])
        if baseline_ns <= 0:
            raise ResultError(f"{members[0]['trace']['file']}: the run to compare with takes no time")
        series.append((key, [point_of(result, baseline_ns) for result in members]))
    return series


def labels(series):
    """Title (what all series share) and one label per series (what tells it apart)."""
    identities = [dict(key) for key, _ in series]
    shared = [name for name in identities[0] if len({one[name] for one in identities}) == 1]
    title = ", ".join(identities[0][name] for name in shared if name in TITLE_PARTS)
    if len(series) == 1:
        return title, [title]
    apart = [name for name in identities[0] if name not in shared]
    # The checksum tells apart what nothing else does: two versions of one trace.
    if len({tuple(one[name] for name in apart if name != "trace") for one in identities}) == len(series):
        apart = [name for name in apart if name != "trace"]
    return title, [", ".join(one[name] for name in apart if one[name]) for one in identities]


def print_table(series):
    title, names = labels(series)
    print(title)
    for name, (_, points) in zip(names, series):
        if len(series) > 1:
            print(f"\n{name}")
        print("  OSF  GPU memory       time  slowdown  fault batches  evictions  to GPU  to host")
        print("             GiB         ms                            (2 MiB)     GiB      GiB")
        for point in points:
            print(
                f"{point['osf']:5g}  {point['capacity_gib']:10.2f}  {point['time_ms']:9.1f}  {point['slowdown']:7.2f}x"
                f"  {point['fault_batches']:13d}  {point['evictions']:9d}"
                f"  {point['htod_gib']:6.1f}  {point['dtoh_gib']:7.1f}"
            )


def annotate(axes, points):
    """Writes the slowdown beside its point, where there is room."""
    space = (points[-1]["osf"] - points[0]["osf"]) * 0.07
    labelled = None
    for point in reversed(points):
        if labelled is not None and labelled - point["osf"] < space:
            continue
        labelled = point["osf"]
        axes.annotate(
            f"{point['slowdown']:.3g}×",
            (point["osf"], point["slowdown"]),
            textcoords="offset points",
            xytext=(-4, 7),
            horizontalalignment="center",
            fontsize=8,
        )


def draw(series, path):
    pyplot = load_pyplot()
    title, names = labels(series)
    figure, (top, bottom) = pyplot.subplots(
        2, 1, figsize=(6.4, 6.0), sharex=True, gridspec_kw={"height_ratios": (3, 2)}, constrained_layout=True
    )
    single = len(series) == 1
    for number, (name, (_, points)) in enumerate(zip(names, series)):
        factors = [point["osf"] for point in points]
        marker = MARKERS[number % len(MARKERS)]
        colour = COLOURS[number % len(COLOURS)]
        top.plot(factors, [point["slowdown"] for point in points], marker=marker, color=colour, label=name)
        # One series: a colour per direction. Several: a colour per series, the direction by the line.
        to_gpu = {"color": COLOURS[0] if single else colour, "marker": "o" if single else marker}
        to_host = {"color": COLOURS[1] if single else colour, "marker": "s" if single else marker}
        bottom.plot(factors, [point["htod_gib"] for point in points], markersize=6.5, label="host to GPU", **to_gpu)
        bottom.plot(
            factors,
            [point["dtoh_gib"] for point in points],
            linestyle="--",
            markerfacecolor="white",
            markersize=3.5,  # both stay visible where the directions move the same
            label="GPU to host",
            **to_host,
        )
        if single:
            annotate(top, points)
    top.axhline(1, color="#888888", linewidth=0.8, zorder=0)
    top.set_ylabel("slowdown (× no limit)")
    top.set_ylim(0, 1.12 * max(point["slowdown"] for _, points in series for point in points))
    top.set_title(title)
    bottom.set_ylabel("data moved (GiB)")
    bottom.set_ylim(bottom=0)
    bottom.set_xlabel("oversubscription factor (footprint / GPU memory)")
    handles, texts = bottom.get_legend_handles_labels()
    bottom.legend(handles[:2], texts[:2])
    if not single:
        for handle in bottom.get_legend().legendHandles:
            handle.set_color("#444444")
        top.legend()
    return save_figure(figure, path)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="plot_osf", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="+", metavar="RESULT.json")
    parser.add_argument("-o", "--figure", metavar="FIGURE", help="write FIGURE.png and FIGURE.pdf")
    parser.add_argument("--table", action="store_true", help="print the numbers (default without -o)")
    given = parser.parse_args(arguments)
    try:
        series = series_of(load_results(given.results))
        if given.table or not given.figure:
            print_table(series)
        if given.figure:
            for path in draw(series, given.figure):
                print(f"figure: {path}")
    except ResultError as error:
        print(f"plot_osf: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
