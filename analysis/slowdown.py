#!/usr/bin/env python3
"""Table and figure of how a program slows down as GPU memory shrinks.

usage: slowdown.py RESULT... [--table] [--figure OUT.png]

RESULT: files that `uvmsim run --json` wrote, one or more results each. Times are those of the settled iteration; they
compare with the run without limit that the results carry or, when they carry none (--no-unlimited-run), with the result
of the lowest oversubscription factor.
"""

import argparse
import os
import sys

from results import ResultError, load_results, settled_counters, settled_ns, total_bytes, unlimited_ns

GIB = 1 << 30


def rows_of(results):
    """One dictionary per result, by rising oversubscription factor."""
    results = sorted(results, key=lambda result: result["osf_thousandths"])
    traces = {result["trace"]["sha256"] for result in results}
    if len(traces) > 1:
        names = ", ".join(sorted({result["trace"]["file"] for result in results}))
        raise ResultError(f"results of several traces ({names}); allowed: one trace")
    baseline_ns = unlimited_ns(results[0]) or settled_ns(results[0])
    rows = []
    for result in results:
        counters = settled_counters(result)
        # The factor as asked for; capacity is whole 2 MB chunks, so the one in force differs a little.
        osf = result["limit"]["osf_thousandths"] or result["osf_thousandths"]
        rows.append(
            {
                "osf": osf / 1000,
                "capacity_gib": result["capacity_bytes"] / GIB,
                "iteration_ms": settled_ns(result) / 1e6,
                "slowdown": settled_ns(result) / baseline_ns,
                "fault_batches": counters["fault_batches"],
                "evictions": counters["evictions"],
                "htod_gib": total_bytes(counters, "htod") / GIB,
                "dtoh_gib": total_bytes(counters, "dtoh") / GIB,
            }
        )
    return rows


def print_table(rows):
    print("  OSF  GPU memory  iteration  slowdown  fault batches  evictions  to GPU  to host")
    print("             GiB         ms                            (2 MB)     GiB      GiB")
    for row in rows:
        print(
            f"{row['osf']:5g}  {row['capacity_gib']:10.2f}  {row['iteration_ms']:9.1f}  {row['slowdown']:7.2f}x"
            f"  {row['fault_batches']:13d}  {row['evictions']:9d}  {row['htod_gib']:6.1f}  {row['dtoh_gib']:7.1f}"
        )


def draw(rows, title, path):
    try:
        import matplotlib
    except ImportError as error:
        raise ResultError("cannot import matplotlib; install python3-matplotlib and use /usr/bin/python3") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    factors = [row["osf"] for row in rows]
    figure, (top, bottom) = pyplot.subplots(
        2, 1, figsize=(6.4, 6.0), sharex=True, gridspec_kw={"height_ratios": (3, 2)}
    )
    top.plot(factors, [row["slowdown"] for row in rows], marker="o", color="#1b4f72")
    for row in rows:
        point = (row["osf"], row["slowdown"])
        top.annotate(f"{row['slowdown']:.3g}x", point, textcoords="offset points", xytext=(4, -12), fontsize=8)
    top.set_ylabel("slowdown of an iteration")
    top.set_ylim(bottom=0)
    top.set_title(title, fontsize=10)
    bottom.plot(factors, [row["htod_gib"] for row in rows], marker="o", color="#b9770e", label="host to GPU")
    bottom.plot(factors, [row["dtoh_gib"] for row in rows], marker="s", color="#117864", label="GPU to host")
    bottom.set_ylabel("moved per iteration, GiB")
    bottom.set_ylim(bottom=0)
    bottom.set_xlabel("oversubscription factor (footprint / GPU memory)")
    bottom.legend(frameon=False, fontsize=8)
    for axes in (top, bottom):
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()

    # Beside the target, then renamed: never half a figure.
    temporary = f"{path}.tmp"
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        figure.savefig(temporary, format="png", dpi=150)
        os.replace(temporary, path)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="RESULT")
    parser.add_argument("--table", action="store_true", help="print the table (default without --figure)")
    parser.add_argument("--figure", metavar="OUT.png", help="draw the figure")
    arguments = parser.parse_args()
    try:
        results = load_results(arguments.results)
        rows = rows_of(results)
        if arguments.table or not arguments.figure:
            print_table(rows)
        if arguments.figure:
            first = results[0]
            policies = ", ".join(f"{slot} {used['name']}" for slot, used in sorted(first["policies"].items()))
            title = f"{first['trace']['file']} on {first['system'].get('name', 'an unnamed system')} ({policies})"
            draw(rows, title, arguments.figure)
    except ResultError as error:
        print(f"slowdown.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
