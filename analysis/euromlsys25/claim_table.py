"""The table *claim, paper, simulated, verdict, why if not*, as text, CSV and Markdown."""

import csv
import io
import textwrap

from analysis.euromlsys25 import claims_memory, claims_time  # noqa: F401 (each registers its rules)
from analysis.euromlsys25.claims import CLAIMS, judge
from analysis.euromlsys25.explanations import EXPLANATIONS
from analysis.euromlsys25.rules import DEFINITION, HOLDS, NO_DATA

HEADER = ("claim", "paper", "simulated", "verdict", "why if not")
WIDTHS = (40, 22, 36, 13, 42)


def judge_all(paper, kernels):
    """[(claim, outcome, why)] of all claims by number; `why` is empty where a claim holds."""
    judged = []
    for claim in sorted(CLAIMS, key=lambda one: one.number):
        outcome = judge(claim, paper, kernels)
        why = "" if outcome.verdict in (HOLDS, DEFINITION) else EXPLANATIONS.get(claim.name, "unexplained")
        if outcome.verdict == NO_DATA:
            why = outcome.simulated
            outcome.simulated = "–"
        judged.append((claim, outcome, why))
    return judged


def rows_of(judged):
    return [
        (f"{claim.name}  {claim.claim}", claim.paper, outcome.simulated, outcome.verdict, why or "")
        for claim, outcome, why in judged
    ]


def summary(judged):
    """ "22 claims: 17 hold, ..." """
    counts = {}
    for _, outcome, _ in judged:
        counts[outcome.verdict] = counts.get(outcome.verdict, 0) + 1
    return f"{len(judged)} claims: " + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())


def setting_lines(paper):
    """What the numbers were computed from."""
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
    "- which iterations its times cover: verdicts take the mean settled iteration (after the warm-up) unless the rule"
    " says otherwise; 'all iterations' includes the first one;",
    "- the mean of E4 and E5: here over every model and factor above 1, each with the same weight;",
    "- what it is normalised to: here the run with the GPU's whole memory; 'factor 1' has as much memory as the"
    " footprint;",
    "- what a factor is: the paper names one footprint per model and occupies memory, so here both modes have what the"
    " program itself reserves with the allocator, over the factor; other memory is a sensitivity;",
    "- what one fault is: here a fault batch (one record of CUPTI with the drivers that we measured);"
    " 'pages' counts every distinct page that a batch serves;",
    "- in which direction bytes and transactions count, and over how many iterations (E21): here both directions;",
    "- inputs are copied with cudaMemcpy, which populates pages without faults; those bytes count as migrated only when"
    " they leave the GPU or come back.",
)


def text_table(judged):
    lines = []

    def add(cells):
        wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, WIDTHS)]
        for number in range(max(map(len, wrapped))):
            parts = [cell[number] if number < len(cell) else "" for cell in wrapped]
            lines.append("  ".join(f"{part:{width}}" for part, width in zip(parts, WIDTHS)).rstrip())

    add(HEADER)
    lines.append("  ".join("-" * width for width in WIDTHS))
    for row in rows_of(judged):
        add(row)
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
    writer.writerow(("id", "claim", "paper", "simulated", "verdict", "why_if_not", "rule", "readings"))
    for claim, outcome, why in judged:
        writer.writerow(
            (
                claim.name,
                claim.claim,
                claim.paper,
                outcome.simulated,
                outcome.verdict,
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
