# SPDX-License-Identifier: Apache-2.0
"""Everything about a sweep of your own in one command: figures and tables of any results into one folder.

    python3 -m analysis RESULTS... -o FOLDER

Writes slowdown and traffic against the oversubscription factor (osf), the gap to the lower bounds (bounds), the
comparison of policies where there are several (policies), each as PNG, PDF; and the table of all points (points.csv).
"""

import os
import sys

from analysis import plot_bounds, plot_osf, plot_policies
from analysis.command import add_results, add_width, parser_of, run
from analysis.files import write_text
from analysis.frame import IDENTITY
from analysis.plain_text import csv_frame
from analysis.results import load
from analysis.series import points_of
from analysis.style import set_width

MEASURES = (
    "capacity_bytes footprint_bytes duration_ns slowdown fault_batches evictions reloaded_pages htod_gib dtoh_gib"
    " duration_ns_low duration_ns_high slowdown_low slowdown_high made_by"
).split()


def csv_text(points):
    """A line per point; the commands of several seeds are in one cell, separated by semicolons."""
    points = points.assign(made_by=["; ".join(str(text).splitlines()) for text in points["made_by"]])
    return csv_frame(points).to_csv(index=False)


def main(arguments=None):
    parser = parser_of("", __doc__)
    add_results(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="write figures and tables there")
    add_width(parser)
    given = parser.parse_args(arguments)

    def work():
        set_width(given.width)
        frame = load(given.results, given.partial)
        points = points_of(frame)
        columns = [*IDENTITY, "limit", "osf", *MEASURES]
        written = [write_text(os.path.join(given.output, "points.csv"), csv_text(points[columns]))]
        written += plot_osf.draw(points, os.path.join(given.output, "osf.png"))
        written += plot_bounds.draw(plot_bounds.gaps_of(frame), os.path.join(given.output, "bounds.png"))
        table, against, title = plot_policies.compare(points)
        if table["policies"].nunique() > 1:
            written += plot_policies.draw(table, against, title, os.path.join(given.output, "policies.png"))
        for path in written:
            print(path)

    return run("analysis", work)


if __name__ == "__main__":
    sys.exit(main())
