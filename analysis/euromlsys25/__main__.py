# SPDX-License-Identifier: Apache-2.0
"""Reproduces the paper: prints the table of its claims with a verdict each, and draws its figures 1 to 9.

    analysis/euromlsys25/run.sh results/euromlsys25        runs the sweep, and this
    python3 -m analysis.euromlsys25 results/euromlsys25

Writes into RESULTS/paper, or into FOLDER of --output: claims.txt (with the rules and other readings of each claim),
claims.csv, claims.md, and fig1 to fig9 as PNG and PDF. What kernels touch (Fig. 5, E13) is read from profiles of the
models, RESULTS/profiles/MODEL.profile; see kernels.py.
"""

import os
import sys

from analysis.command import add_results, parser_of, run
from analysis.euromlsys25 import figures
from analysis.euromlsys25.claim_table import csv_table, judge_all, markdown_table, summary, text_report, text_table
from analysis.euromlsys25.kernels import load_kernels
from analysis.euromlsys25.paper import Paper
from analysis.files import write_text
from analysis.results import load


def main(arguments=None):
    parser = parser_of("euromlsys25", __doc__)
    add_results(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", help="write there instead of into RESULTS/paper")
    parser.add_argument("--profiles", metavar="FOLDER", help="profiles for Fig. 5 and E13, default RESULTS/profiles")
    parser.add_argument("--dpi", type=int, metavar="N", help="resolution of the PNG files, default 200")
    parser.add_argument("--no-figures", action="store_true", help="only the table")
    given = parser.parse_args(arguments)
    first = given.results[0]
    folder = first if os.path.isdir(first) else os.path.dirname(first)
    output = given.output or os.path.join(folder, "paper")

    def work():
        frame = load(given.results, given.partial)
        paper = Paper(frame)
        beside = Paper(frame, beside=True) if frame["beside"].any() else None
        kernels = load_kernels(given.profiles or os.path.join(folder, "profiles"))
        judged = judge_all(paper, kernels, beside)
        print(text_table(judged))
        print()
        print(summary(judged))
        written = [
            write_text(os.path.join(output, "claims.txt"), text_report(judged, paper)),
            write_text(os.path.join(output, "claims.csv"), csv_table(judged)),
            write_text(os.path.join(output, "claims.md"), markdown_table(judged, paper)),
        ]
        if not given.no_figures:
            drawn, skipped = figures.draw_all(paper, kernels, output, given.dpi)
            written += drawn
            for name, reason in skipped:
                print(f"not drawn: {name}: {reason}")
        for path in written:
            print(f"written: {path}")

    return run("euromlsys25", work)


if __name__ == "__main__":
    sys.exit(main())
