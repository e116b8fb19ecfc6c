# SPDX-License-Identifier: Apache-2.0
"""DeepUM against the stock driver on our traces: how much faster, and why no faster.

    build/release/bin/uvmsim sweep configs/sweeps/deepum.json -o results/deepum
    build/release/bin/uvmsim sweep configs/sweeps/deepum_v100.json -o results/deepum_v100
    build/release/bin/uvmsim sweep configs/sweeps/g10.json -o results/g10
    python3 -m analysis.deepum results/deepum results/deepum_v100 results/g10 [--markdown analysis/deepum.md]

One row per model and factor: the settled iterations (sim/report/README.md) without a planner, with `deepum` (learns from
faults) and with `deepum_ideal` (perfect prediction), the speed-up of `deepum`, how many iterations it learned before it
settled, and what its counters say about the time that is left. A time of a run that has not settled is marked. The same
table again for the V100 of DeepUM's paper. A last
table compares Base UVM / DeepUM+ (ours: `deepum_ideal`) with the ratios of G10's artifact, where the link is G10's: with
the factor that it gives (footprint / GPU memory), and with its GPU memory per sample. The two differ for convolutional
networks, whose footprint per sample is there four times that of the recordings.
"""

import sys
import textwrap

from analysis.command import add_results, parser_of, run
from analysis.errors import ResultError
from analysis.files import write_text
from analysis.frame import moved_bytes, settled
from analysis.results import load

STOCK, LEARNED, IDEAL = "none", "deepum", "deepum_ideal"
# By trace: model, footprint in GPU memories, Base UVM / DeepUM+; from the example results of G10's artifact.
PUBLISHED = {
    "bert": ("BERT, batch 256", 3.70, 2.15),
    "vit": ("ViT, batch 1280", 4.61, 3.25),
    "inception_v3": ("Inception-v3, batch 1536", 19.69, 3.17),
    "resnet152": ("ResNet-152, batch 1280", 27.15, 3.55),
    "senet154": ("SENet-154, batch 1024", 42.78, 3.78),
}
WHY = "why no faster"
UNSETTLED = " (not settled)"  # on a terminal: *
HEADER = (
    "model",
    "OSF",
    "stock ms",
    "DeepUM ms",
    "perfect prediction ms",
    "all resident ms",
    "speed-up",
    "learning iterations",
    WHY,
)
# The GPU of DeepUM's paper has a table of its own.
PAPERS_SYSTEM = "v100-pcie-32g"
GIB = 1 << 30


class Times:
    """The three runs of one model at one factor."""

    def __init__(self, program, osf, rows):
        self.program, self.osf = program, osf
        self.rows = {row.plan: row for row in rows.itertuples()}
        missing = [plan for plan in (STOCK, LEARNED, IDEAL) if plan not in self.rows]
        if missing:
            raise ResultError(f"{program} at OSF {osf:g}: no run with plan {', '.join(missing)}")

    def ms(self, plan):
        return self.rows[plan].duration_ns / 1e6

    def is_settled(self, plan):
        return self.rows[plan].is_settled is not False

    def ms_text(self, plan):
        return f"{self.ms(plan):.0f}" + ("" if self.is_settled(plan) else UNSETTLED)

    def learning(self):
        """Returns the number of iterations before DeepUM's first settled one."""
        iterations = self.rows[LEARNED].learning_iterations
        if not self.is_settled(LEARNED):
            return "not settled"
        return "–" if iterations is None else f"{int(iterations)}"

    def speed_up(self, plan):
        return self.ms(STOCK) / self.ms(plan)

    def link_share(self, plan):
        row = self.rows[plan]
        return max(row.htod_busy_ns, row.dtoh_busy_ns) / row.duration_ns

    def fault_share(self, plan):
        return self.rows[plan].fault_service_ns / self.rows[plan].duration_ns

    def moved_gib(self, plan):
        return self.rows[plan].moved / GIB

    def why(self):
        stock, learned = self.rows[STOCK], self.rows[LEARNED]
        link, faults = self.link_share(LEARNED), self.fault_share(LEARNED)
        computing = learned.kernel_compute_ns / learned.duration_ns
        shares = {"the link": link, "faults": faults, "computing": computing}
        limit = max(shares, key=shares.get)
        text = (
            f"{limit}: {shares[limit]:.0%} of the time; fault batches {stock.fault_batches:,.0f} →"
            f" {learned.fault_batches:,.0f}, moved {self.moved_gib(STOCK):.1f} → {self.moved_gib(LEARNED):.1f} GiB, link busy"
            f" {self.link_share(STOCK):.0%} → {link:.0%}"
        )
        if self.ms(IDEAL) > self.ms(LEARNED):
            text += f"; perfect prediction moves {self.moved_gib(IDEAL):.1f} GiB: whole operands, not what faults"
        return text


def times_of(frame, partial):
    """Returns (ours, the paper's card, G10's link): lists of Times, which may be empty. Of the systems other than the
    paper's card, the one with most points is ours. A partial sweep uses the points that exist under all three plans."""
    if "plan" not in frame:
        raise ResultError("no run with a planner; run configs/sweeps/deepum.json")
    rows = settled(frame).copy()
    rows["moved"] = moved_bytes(rows, "htod") + moved_bytes(rows, "dtoh")
    counts = rows.groupby("setting")["point"].count().sort_values(ascending=False, kind="stable")
    ours, paper, g10 = [], [], []
    for setting in counts.index:
        same = rows[rows["setting"] == setting]
        groups = same.groupby(["program", "osf"])
        if partial:
            groups = [(key, group) for key, group in groups if set(group["plan"]) >= {STOCK, LEARNED, IDEAL}]
        times = [Times(program, osf, group) for (program, osf), group in groups]
        if (same["system"] == PAPERS_SYSTEM).all():
            paper += times
        elif not ours:
            ours = times
        else:
            g10 += times
    return ours, paper, g10


def main_rows(times):
    return [
        (
            one.program,
            f"{one.osf:g}",
            one.ms_text(STOCK),
            one.ms_text(LEARNED),
            one.ms_text(IDEAL),
            f"{one.rows[STOCK].ideal_ns / 1e6:.0f}",
            f"{one.speed_up(LEARNED):.2f}",
            one.learning(),
            one.why(),
        )
        for one in times
    ]


MADE_BY = (
    "`analysis/deepum.py` prints this; its first lines say by which commands. Times are of settled iterations"
    " (`sim/report/README.md`), each run until it has settled."
)
PAPER_REMARK = (
    "On the card of DeepUM's paper (V100 PCIe, 32 GB), with programs like four of its nine. The paper's own speed-ups are not"
    " beside them: its text and figures were not at hand, and no number of it is quoted from memory. What differs from it:"
    " batch sizes and footprints are those of our recordings (workloads/README.md), the factors are ours, kernel durations are"
    " scaled from an H200, and the driver's costs are those of a Titan V, fitted to nothing of DeepUM."
)
G10_REMARK = (
    "With the link of G10's set-up; by footprint: with its factor of footprint / GPU memory; by sample: with as much GPU"
    " memory per sample. For convolutional networks the first is a quarter of the second, as a sample takes four times as"
    " much there: Inception-v3 by footprint has 0.8 GB, and its largest kernels touch 2.1 GB."
)
G10_HEADER = ("G10's artifact", "OSF", "Base UVM / DeepUM+", "ours, OSF", "Base UVM / perfect prediction", "memory as there", "not settled", "")


def g10_rows(times):
    """Returns our ratio beside each published one: at its factor of oversubscription, and with its memory per
    sample."""
    lowest, highest = min(one[2] for one in PUBLISHED.values()), max(one[2] for one in PUBLISHED.values())
    rows = []
    for one in times:
        model, osf, ratio = PUBLISHED.get(one.program, ("–", 0, 0))
        ours = one.speed_up(IDEAL)
        same_factor = abs(one.osf - osf) < 0.005
        rows.append(
            (
                model,
                f"{osf:g}" if osf else "–",
                f"{ratio:.2f}" if ratio else "–",
                f"{one.osf:.3g}",
                f"{ours:.2f}",
                "by footprint" if same_factor else "by sample",
                ", ".join(plan for plan in (STOCK, IDEAL) if not one.is_settled(plan)) or "–",
                f"{'in' if lowest <= ours <= highest else 'outside'} {lowest} to {highest}",
            )
        )
    order = [model for model, _, _ in PUBLISHED.values()]
    return sorted(rows, key=lambda row: (row[5], order.index(row[0]) if row[0] in order else len(order)))


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


TERMINAL_COLUMNS = 120
# Short headers for the terminal. Reasons are below the table, row by row.
SHORT = {
    "perfect prediction ms": "perfect ms",
    "all resident ms": "resident ms",
    "learning iterations": "learning",
    "Base UVM / DeepUM+": "/ DeepUM+",
    "Base UVM / perfect prediction": "/ perfect",
    "ours, OSF": "our OSF",
    "memory as there": "memory",
}


def wrapped(text):
    return textwrap.fill(text, TERMINAL_COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def terminal_text(header, rows, remark):
    columns = [column for column, name in enumerate(header) if name != WHY]
    shown = [[row[column].replace(UNSETTLED, "*") for column in columns] for row in rows]
    parts = [text_table([SHORT.get(header[column], header[column]) for column in columns], shown)]
    if header == G10_HEADER:
        parts.append("/: the time of Base UVM over that one")
    if any(cell.endswith("*") for row in shown for cell in row):
        parts.append("* not settled")
    if WHY in header:
        reasons = [wrapped(f"{row[0]} at {row[1]}: {row[header.index(WHY)]}") for row in rows]
        parts.append("\n".join([f"{WHY}:", *reasons]))
    return "\n\n".join([*parts, wrapped(remark)]) + "\n"


def text_table(header, rows):
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [header, *rows])


def summary(times):
    slower = [f"{one.program} at {one.osf:g}" for one in times if one.speed_up(LEARNED) < 1]
    factors = [one.speed_up(LEARNED) for one in times]
    systems = ", ".join(sorted({row.system for one in times for row in one.rows.values()}))
    text = (
        f"On {systems} DeepUM is {min(factors):.2f} to {max(factors):.2f} times as fast as the stock driver on"
        f" {len(times)} points"
    )
    learned = [one.rows[LEARNED].learning_iterations for one in times if one.is_settled(LEARNED)]
    if learned and None not in learned:
        text += f", once it has settled, which takes {int(min(learned))} to {int(max(learned))} iterations"
    behind = [f"{one.program} at {one.osf:g}" for one in times if one.ms(IDEAL) > one.ms(LEARNED)]
    unsettled = [f"{one.program} at {one.osf:g}" for one in times if not all(map(one.is_settled, one.rows))]
    if unsettled:
        text += "; with a run that has not settled: " + ", ".join(unsettled)
    if slower:
        text += "; slower: " + ", ".join(slower)
    if behind:
        text += "; perfect prediction is slower than learning: " + ", ".join(behind)
    return text + "."


def main(arguments=None):
    parser = parser_of("deepum", __doc__)
    add_results(parser)
    parser.add_argument("--markdown", metavar="FILE", help="write the tables there as well")
    given = parser.parse_args(arguments)

    def work():
        ours, paper, g10 = times_of(load(given.results, given.partial), given.partial)
        tables = [(HEADER, main_rows(ours), summary(ours))] if ours else []
        if paper:
            tables.append((HEADER, main_rows(paper), f"{PAPER_REMARK} {summary(paper)}"))
        if g10:
            tables.append((G10_HEADER, g10_rows(g10), G10_REMARK))
        for header, rows, remark in tables:
            print(terminal_text(header, rows, remark))
        if given.markdown:
            parts = ["# DeepUM against the stock driver", MADE_BY]
            parts += [f"{remark}\n\n{markdown(header, rows)}" for header, rows, remark in tables]
            print(f"written: {write_text(given.markdown, chr(10).join(f'{part}{chr(10)}' for part in parts))}")

    return run("deepum", work)


if __name__ == "__main__":
    sys.exit(main())
