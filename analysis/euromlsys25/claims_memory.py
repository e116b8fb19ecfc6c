# SPDX-License-Identifier: Apache-2.0
"""Rules E13 to E22: faults, migrations, and accesses of kernels."""

from analysis.euromlsys25.claims import claim
from analysis.euromlsys25.paper import ALL, MODELS, NO_PCA, PCA, READINGS, SETTLED, MissingData, per_model
from analysis.euromlsys25.rules import (
    ALEXNET_TRAFFIC,
    ALL_WRITES,
    CLOSE,
    FAILS,
    FLAT,
    HALF,
    HOLDS,
    IN_PART,
    LARGEST_KERNEL,
    MORE_TRANSACTIONS,
    MOST_KERNELS,
    RANK,
    SHARP_GROWTH,
    SIMILAR,
    SMALL_KERNEL,
    Outcome,
    correlation,
    percent,
    rank_correlation,
    times,
    verdict_by_model,
    verdict_of,
    within,
    within_range,
)

FAULT_MEASURES = {"fault_batches": "batches", "faulting_pages": "pages"}


def means_text(means, form):
    return ", ".join(
        f"{'no limit' if factor == 0 else format(factor, 'g')}: {form(value)}" for factor, value in means.items()
    )


def count(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


@claim(
    13,
    "Most kernels touch little memory, few touch much, and none near the footprint (first five iterations, Fig. 5)",
    "few large kernels",
    f"for every model at least {MOST_KERNELS:.0%} of the kernels touch at most {SMALL_KERNEL:.0%} of the footprint, and"
    f" none more than {LARGEST_KERNEL:.0%}",
)
def kernel_sets(_, kernels):
    if kernels is None:
        raise MissingData("no working sets of kernels (profiles of the models)")
    lines, passed, shares, largest = [], [], [], []
    for model, members in kernels.groupby("program", sort=False):
        part = members["touched_bytes"] / members["footprint_bytes"]
        small, most = float((part <= SMALL_KERNEL).mean()), float(part.max())
        passed.append(small >= MOST_KERNELS and most <= LARGEST_KERNEL)
        shares.append(small)
        largest.append(most)
        lines.append(
            f"{MODELS[model]}: {len(members)} kernels, median {percent(part.median())} of the footprint,"
            f" {percent(small)} are small, largest {percent(most)}"
        )
    return Outcome(
        verdict_by_model(passed),
        f"at least {percent(min(shares))} of kernels are small; the largest touches {percent(max(largest))}",
        lines,
    )


@claim(
    14,
    "Faults with PCA rise sharply with the factor and follow the slowdown (Fig. 6a)",
    "sharp rise, same shape",
    f"for every model faults grow at least {SHARP_GROWTH:g} times from the lowest factor above 1 to the highest, and"
    f" correlate with time by at least {CLOSE:g}",
)
def faults_rise(paper, _):
    lines, verdict, simulated = [], None, ""
    for measure, name in FAULT_MEASURES.items():
        above = paper.oversubscribed(measure, PCA)
        growth = above[above.columns.max()] / above[above.columns.min()].clip(lower=1)
        every, durations = paper.table(measure, PCA), paper.table("duration_ns", PCA)
        tied = {model: correlation(every.loc[model], durations.loc[model]) for model in every.index}
        lines.append(f"{name}, growth: {per_model(growth, times)}")
        lines.append(f"{name}, correlation with time: {per_model(tied, lambda value: format(value, '.3f'))}")
        if measure == "fault_batches":
            verdict = verdict_by_model(
                [growth[model] >= SHARP_GROWTH and tied[model] >= CLOSE for model in every.index]
            )
            simulated = (
                f"growth {times(growth.min())} to {times(growth.max())}; correlation at least {min(tied.values()):.2f}"
            )
    return Outcome(verdict, simulated, lines)


@claim(
    15,
    "Faults without PCA stay flat but are more; PCA has about half of them (Fig. 6b)",
    "flat; about half",
    f"mean over models: highest at most {FLAT:g} times the lowest over all factors, and above that with PCA;"
    " with PCA / without over models and factors above 1: 0.5 within 25 % (ratio of sums); fault batches",
)
def faults_flat(paper, _):
    lines, verdict, simulated = [], None, ""
    for reading in READINGS:
        for measure, name in FAULT_MEASURES.items():
            without = paper.table(measure, NO_PCA, reading)
            means, means_with = without.mean(), paper.table(measure, PCA, reading).mean()
            spread = means.max() / max(means.min(), 1)
            common = means.index.intersection(means_with.index)
            more = bool((means[common] > means_with[common]).all())
            first, second = (paper.oversubscribed(measure, mode, reading) for mode in (PCA, NO_PCA))
            both = first.notna() & second.notna()
            of_sums = float(first[both].sum().sum() / second[both].sum().sum())
            of_ratios = float((first / second).stack().mean())
            lines.append(
                f"{reading}, {name}: highest {times(spread)} the lowest;"
                f" {'more' if more else 'not more'} at every factor;"
                f" with / without {of_sums:.2f} (sums), {of_ratios:.2f} (mean of ratios)"
            )
            if (reading, measure) == (paper.judged, "fault_batches"):
                lines.append(f"mean batches without PCA: {means_text(means, count)}")
                lines.append(f"mean batches with PCA: {means_text(means_with, count)}")
                verdict = verdict_of(spread <= FLAT, more, within(of_sums, HALF))
                simulated = f"highest {times(spread)} the lowest; with / without {of_sums:.2f}"
    return Outcome(verdict, simulated, lines)


@claim(
    16,
    "Without oversubscription all faults are write faults (inputs arrive by cudaMemcpy)",
    "100 % writes",
    f"at least {ALL_WRITES:.1%} for every model in both modes, over all iterations, without oversubscription",
)
def write_faults(paper, _):
    lines, passed, lowest = [], [], 1.0
    for mode in (PCA, NO_PCA):
        shares = paper.unlimited("write_share", mode).dropna()
        passed += list(shares >= ALL_WRITES)
        lowest = min([lowest, *shares])
        lines.append(f"{mode}: {per_model(shares, percent)}")
    if not passed:
        raise MissingData("no faults without oversubscription")
    return Outcome(verdict_by_model(passed), f"at least {percent(lowest)}", lines)


@claim(
    17,
    "The share of read faults grows with the factor (Fig. 7)",
    "grows",
    f"for every model, in both modes: rank correlation with the factor at least {RANK:g}, and more at the end than at"
    " the start",
)
def read_faults(paper, _):
    lines, passed, texts = [], [], []
    for reading in READINGS:
        for mode in (PCA, NO_PCA):
            shares = paper.table("read_share", mode, reading)
            means = shares[[factor for factor in shares.columns if factor >= 1]].mean().dropna()
            if len(means) < 2:
                raise MissingData(f"no faults {mode} at two factors")
            rank = rank_correlation(means)
            lines.append(f"{reading}, {mode}, mean: {means_text(means, percent)}; rank correlation {rank:.2f}")
            grows = {}
            for model in shares.index:
                curve = shares.loc[model, means.index].dropna()
                if len(curve) >= 2:
                    grows[model] = rank_correlation(curve) >= RANK and curve.iloc[-1] > curve.iloc[0]
                    ends = f"{percent(curve.iloc[0])} to {percent(curve.iloc[-1])}"
                    lines.append(f"{reading}, {mode}, {MODELS[model]}: {ends}")
            if reading == paper.judged:
                passed += list(grows.values())
                texts.append(f"{mode} it grows for {sum(grows.values())} of {len(grows)} models")
    return Outcome(verdict_by_model(passed), "; ".join(texts), lines)


@claim(
    18,
    "With PCA read and write faults are more balanced than without",
    "more balanced",
    "mean of |read share - write share| over models and factors above 1 is smaller with PCA",
)
def balance(paper, _):
    lines, verdict, simulated = [], None, ""
    for reading in READINGS:
        means = {mode: paper.oversubscribed("imbalance", mode, reading).mean() for mode in (PCA, NO_PCA)}
        sizes = {mode: paper.oversubscribed("imbalance", mode, reading).stack().mean() for mode in (PCA, NO_PCA)}
        lower = int((means[PCA] < means[NO_PCA]).sum())
        lines += [f"{reading}, {mode}: {means_text(means[mode], percent)}" for mode in means]
        if reading == paper.judged:
            verdict = HOLDS if sizes[PCA] < sizes[NO_PCA] else IN_PART if lower * 2 >= len(means[PCA]) else FAILS
            simulated = (
                f"{percent(sizes[PCA])} with PCA, {percent(sizes[NO_PCA])} without; smaller at {lower} of"
                f" {len(means[PCA])} factors"
            )
    return Outcome(verdict, simulated, lines)


def ratios_of(paper, measure, reading=None):
    """Returns (ratio of sums, mean of ratios) with PCA over without, over models and factors above 1."""
    first, second = (paper.oversubscribed(measure, mode, reading) for mode in (PCA, NO_PCA))
    both = first.notna() & second.notna()
    if not both.any(axis=None):
        raise MissingData("no model and factor with runs in both modes")
    each = (first / second.where(second > 0)).stack()
    return float(first[both].sum().sum() / second[both].sum().sum()), float(each.mean()), each


@claim(
    19,
    "PCA causes two to three times as many migration transactions (Fig. 8)",
    "2x to 3x",
    "ratio of sums over models and factors above 1 between 2 and 3, within 25 %; both directions",
)
def more_transactions(paper, _):
    lines, found = [], None
    for reading in READINGS:
        for measure, name in (
            ("transactions", "both directions"),
            ("htod_transactions", "host to GPU"),
            ("dtoh_transactions", "GPU to host"),
        ):
            of_sums, of_ratios, each = ratios_of(paper, measure, reading)
            found = of_sums if found is None else found
            lines.append(f"{reading}, {name}: {times(of_sums)} (sums), {times(of_ratios)} (mean of ratios)")
            if (reading, measure) == (paper.judged, "transactions"):
                by_model = each.groupby(level=0, sort=False).mean()
                lines.append(f"{reading}, {name}, mean of ratios: {per_model(by_model, times)}")
    return Outcome(HOLDS if within_range(found, *MORE_TRANSACTIONS) else FAILS, times(found), lines)


@claim(
    20,
    "Migrated bytes follow the same pattern; bytes per transaction are similar in both modes (Fig. 9)",
    "same pattern; ratio about 1",
    f"bytes and transactions rank models and factors alike (rank correlation at least {RANK:g} in both modes), PCA"
    f" moves more, and bytes per transaction with PCA / without is 1 within {SIMILAR:.0%} (ratio of sums)",
)
def bytes_follow(paper, _):
    lines, ranks = [], []
    for mode in (PCA, NO_PCA):
        size, number = (paper.oversubscribed(name, mode).stack() for name in ("moved_bytes", "transactions"))
        size.index = number.index = range(len(size))
        ranks.append(correlation(size.rank(), number.rank()))
        lines.append(f"{mode}: rank correlation of bytes and transactions {ranks[-1]:.2f}")
    more, of_ratios, _ = ratios_of(paper, "moved_bytes")
    lines.append(f"bytes with PCA / without: {times(more)} (sums), {times(of_ratios)} (mean of ratios)")
    per, shown = [], {}
    for direction, name in (
        ("moved_bytes", "both directions"),
        ("htod_bytes", "host to GPU"),
        ("dtoh_bytes", "GPU to host"),
    ):
        number = "transactions" if direction == "moved_bytes" else direction.replace("_bytes", "_transactions")
        sizes = [
            paper.oversubscribed(direction, mode).sum().sum() / max(paper.oversubscribed(number, mode).sum().sum(), 1)
            for mode in (PCA, NO_PCA)
        ]
        per.append(sizes[0] / sizes[1] if sizes[1] > 0 else float("nan"))
        shown[name] = sizes
        lines.append(f"{name}: {sizes[0] / 1e3:.0f} KB per transaction with PCA, {sizes[1] / 1e3:.0f} KB without")
    return Outcome(
        verdict_of(min(ranks) >= RANK and more > 1, within(per[0], 1, SIMILAR)),
        f"bytes {times(more)}; bytes per transaction {per[0]:.2f} ({shown['both directions'][0] / 1e3:.0f} KB,"
        f" {shown['both directions'][1] / 1e3:.0f} KB)",
        lines,
    )


@claim(
    21,
    "AlexNet at factor 10 migrates about 200 times its footprint",
    "about 200x",
    "bytes of both directions in all ten iterations with PCA, over the footprint that the factor divides, within 25 %",
)
def alexnet_traffic(paper, _):
    rows = paper.rows if paper.rows is not None else []
    rows = rows[(rows["program"] == "alexnet") & (rows["osf"] == 10.0)] if len(rows) else rows
    lines, found = [], None
    for mode in (PCA, NO_PCA):
        for reading in (ALL, SETTLED):
            chosen = rows[(rows["mode"] == mode) & (rows["reading"] == reading)] if len(rows) else rows
            for _, row in chosen.iterrows() if len(rows) else ():
                for measure, name in (("moved_bytes", "both directions"), ("htod_bytes", "host to GPU")):
                    ratio = row[measure] / (row["osf"] * row["capacity_bytes"])
                    found = ratio if found is None and mode == PCA else found
                    what = f"{row['length']} iterations" if reading == ALL else "one settled iteration"
                    lines.append(f"{mode}, {what}, {name}: {times(ratio)} ({row[measure] / 1e9:.3g} GB)")
    lines += paper.sensitivity_lines("alexnet", "moved_bytes", lambda value: f"{value / 1e9:.3g} GB", ALL)
    if found is None:
        raise MissingData("no run of AlexNet at factor 10 with PCA")
    return Outcome(HOLDS if within(found, ALEXNET_TRAFFIC) else FAILS, times(found), lines)


@claim(
    22,
    "PCA trades faults, which stall kernels, for migrations, which overlap with them",
    "fewer faults, more migrations",
    "over models and factors above 1, with PCA against without: fewer fault batches, more migration transactions, and a"
    " smaller ratio of fault handling time to transfer time (sums)",
)
def trade(paper, _):
    lines, verdict, simulated = [], None, ""
    for reading in READINGS:
        faults = ratios_of(paper, "fault_batches", reading)[0]
        moves = ratios_of(paper, "transactions", reading)[0]
        handled = {}
        for mode in (PCA, NO_PCA):
            transfer = sum(
                paper.oversubscribed(name, mode, reading).sum().sum() for name in ("htod_busy_ns", "dtoh_busy_ns")
            )
            handling = paper.oversubscribed("fault_service_ns", mode, reading).sum().sum()
            stall = paper.oversubscribed("kernel_ns", mode, reading) - paper.oversubscribed(
                "kernel_compute_ns", mode, reading
            )
            handled[mode] = handling / max(transfer, 1)
            lines.append(
                f"{reading}, {mode}: fault handling {handling / 1e9:.3g} s, transfers {transfer / 1e9:.3g} s, kernels"
                f" stalled {stall.sum().sum() / 1e9:.3g} s"
            )
        if reading == paper.judged:
            verdict = verdict_of(faults < 1, moves > 1, handled[PCA] < handled[NO_PCA])
            simulated = (
                f"faults {times(faults)}, transactions {times(moves)}; handling / transfer {handled[PCA]:.2f} with PCA,"
                f" {handled[NO_PCA]:.2f} without"
            )
    return Outcome(verdict, simulated, lines)
