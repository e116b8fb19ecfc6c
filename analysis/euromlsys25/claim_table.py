# SPDX-License-Identifier: Apache-2.0
"""The table *claim, paper, simulated, verdict, other readings' verdicts, why if not*, as text, CSV and Markdown."""

import collections
import csv
import io
import textwrap

from analysis.euromlsys25 import claims_memory, claims_time  # noqa: F401 (each registers its rules)
from analysis.euromlsys25.claims import CLAIMS, judge
from analysis.euromlsys25.explanations import EXPLANATIONS
from analysis.euromlsys25.paper import SETTLED
from analysis.euromlsys25.rules import DEFINITION, FAILS, HOLDS, IN_PART, NO_DATA

HEADER = (
    "claim",
    "paper",
    "simulated",
    "verdict",
    "settled iterations alone",
    "memory left for managed data (b)",
    "why if not",
)
# Widths of the text; the reason why a claim does not hold is below its table.
WIDTHS = (29, 18, 24, 13, 13, 13)


VERDICTS = (HOLDS, IN_PART, FAILS, DEFINITION, NO_DATA)


def judge_settled(claim, paper, kernels):
    """Returns the verdict of settled iterations alone."""
    judged = paper.judged
    paper.judged = SETTLED
    try:
        return judge(claim, paper, kernels).verdict
    finally:
        paper.judged = judged


def judge_all(paper, kernels, beside=None):
    """Returns [(claim, outcome, why)] of all claims by number; `why` is empty if a claim holds. `beside` is the same
    sweep by the other reading of available memory (Paper), if there is one."""
    judged = []
    for claim in sorted(CLAIMS, key=lambda one: one.number):
        outcome = judge(claim, paper, kernels)
        outcome.settled = judge_settled(claim, paper, kernels)
        outcome.beside = judge(claim, beside, kernels).verdict if beside else NO_DATA
        why = "" if outcome.verdict in (HOLDS, DEFINITION) else EXPLANATIONS.get(claim.name, "unexplained")
        if outcome.verdict == NO_DATA:
            why = outcome.simulated
            outcome.simulated = "–"
        judged.append((claim, outcome, why))
    return judged


def rows_of(judged):
    return [
        (f"{claim.name}  {claim.claim}", claim.paper, outcome.simulated, outcome.verdict, outcome.settled, outcome.beside,
         why or "")
        for claim, outcome, why in judged
    ]


def counted(verdicts):
    """Returns "17 holds, 3 holds in part, ..."."""
    counts = collections.Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def summary(judged):
    return (
        f"{len(judged)} claims: {counted(outcome.verdict for _, outcome, _ in judged)};\n"
        f"by settled iterations alone: {counted(outcome.settled for _, outcome, _ in judged)};\n"
        f"with that memory left for managed data: {counted(outcome.beside for _, outcome, _ in judged)}"
    )


def setting_lines(paper):
    """Describes the data behind the numbers."""
    rows = paper.rows
    lines = [f"system {paper.system}, policies {paper.policies}"]
    if paper.whole:
        lines.append(paper.whole)
    if rows is not None:
        lengths = sorted(set(rows["length"]))
        lines.append(f"iterations per run: {', '.join(map(str, lengths))}")
    missing = paper.missing()
    lines += (
        ["the paper's whole grid"]
        if not missing
        else ["not the paper's whole grid, missing:"] + [f"  {text}" for text in missing]
    )
    return lines


AMBIGUITIES = (
    "The paper leaves open, so both readings are computed where that is cheap:",
    "- which iterations its times cover: verdicts take all ten of a run, the first with its first touches included, since"
    " the paper trains ten and names none that it leaves out; what the mean iteration after the warm-up would give stands"
    " beside each;",
    "- the mean of E4 and E5: here over every model and factor above 1, each with the same weight;",
    "- what it is normalised to: here the run with the GPU's whole memory; 'factor 1' has as much memory as the"
    " footprint;",
    "- what a factor is: the paper names one footprint per model and occupies memory, so here both modes have what the"
    " program itself reserves with the allocator, over the factor; other memory is a sensitivity;",
    "- what available memory is: here what is free before the program loads its kernels (a); the verdicts for as much"
    " memory left for managed data (b) stand beside;",
    "- what one fault is: here a fault batch (one record of CUPTI with the drivers that we measured);"
    " 'pages' counts every distinct page that a batch serves;",
    "- in which direction bytes and transactions count, and over how many iterations (E21): here both directions;",
    "- inputs are copied with cudaMemcpy, which populates pages without faults; those bytes count as migrated only when"
    " they leave the GPU or come back.",
)


def text_table(judged):
    lines = []

    def add(cells):
        wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, WIDTHS, strict=False)]
        for number in range(max(map(len, wrapped))):
            parts = [cell[number] if number < len(cell) else "" for cell in wrapped]
            lines.append("  ".join(f"{part:{width}}" for part, width in zip(parts, WIDTHS, strict=True)).rstrip())

    add(HEADER)
    lines.append("  ".join("-" * width for width in WIDTHS))
    for row in rows_of(judged):
        add(row)
    for row in rows_of(judged):
        if row[-1]:
            lines += ["", *textwrap.wrap(f"{row[0].split()[0]}: {row[-1]}", 120, subsequent_indent="     ")]
    return "\n".join(lines)


def text_report(judged, paper):
    lines = ["Claims of EuroMLSys '25", *setting_lines(paper), "", text_table(judged), "", summary(judged), ""]
    for paragraph in AMBIGUITIES:
        lines += textwrap.wrap(paragraph, 120, subsequent_indent="  " if paragraph.startswith("-") else "")
    lines += ["", "Rules and other readings", ""]
    for claim, outcome, _ in judged:
        lines += textwrap.wrap(f"{claim.name} ({outcome.verdict}): {claim.rule}", 120, subsequent_indent="     ")
        for reading in outcome.readings:
            lines += textwrap.wrap(reading, 120, initial_indent="     - ", subsequent_indent="       ")
    return "\n".join(lines) + "\n"


def csv_table(judged):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("id", "claim", "paper", "simulated", "verdict", "verdict_settled", "verdict_beside", "why_if_not", "rule", "readings"))
    for claim, outcome, why in judged:
        writer.writerow(
            (
                claim.name,
                claim.claim,
                claim.paper,
                outcome.simulated,
                outcome.verdict,
                outcome.settled,
                outcome.beside,
                why,
                claim.rule,
                " | ".join(outcome.readings),
            )
        )
    return out.getvalue()


def markdown_table(judged, paper):
    def cell(text):
        return text.replace("|", "\\|")

    lines = ["; ".join(line.strip() for line in setting_lines(paper)) + ".", "", "| " + " | ".join(HEADER) + " |"]
    lines.append("|" + "---|" * len(HEADER))
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows_of(judged)]
    lines += ["", summary(judged) + "."]
    return "\n".join(lines) + "\n"
