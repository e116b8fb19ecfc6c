# SPDX-License-Identifier: Apache-2.0
"""Rules E1 to E12: the time of training."""

from analysis.euromlsys25.claims import claim
from analysis.euromlsys25.paper import (
    ALL,
    CNNS,
    ITERATIONS,
    LANGUAGE_MODELS,
    MODELS,
    NO_PCA,
    PCA,
    READINGS,
    MissingData,
    per_model,
)
from analysis.euromlsys25.rules import (
    ALEXNET_KNEE,
    DEFINITION,
    FAILS,
    HOLDS,
    IN_PART,
    LARGEST_BATCH,
    NO_OVERHEAD,
    RANK,
    SHARP,
    SLOWDOWN_WITH,
    SLOWDOWN_WITHOUT,
    SMALL_RATIO,
    TOLERANCE,
    WHISPER_KNEE,
    WITHOUT_ALLOCATOR,
    Outcome,
    knee,
    percent,
    rank_correlation,
    slopes_around,
    times,
    verdict_by_model,
    verdict_of,
    within,
)

@claim(
    1,
    "GPT-2 without UVM runs out of memory beyond batch 80 on 80 GB; with UVM it runs",
    "fails beyond batch 80",
    "the first batch size whose live tensors exceed the GPU's memory lies above 80, by at most 25 %, the largest that"
    " fits at most 25 % below; under UVM every batch size finishes",
)
def out_of_memory(paper, _):
    rows = paper.batches
    if rows is None:
        raise MissingData("no batch sweep of GPT-2 (programs gpt2_b16, gpt2_b32, ... with the GPU's whole memory)")

    def limits(sizes):
        fit = sizes <= rows["capacity_bytes"]
        fits, fails = rows["batch"][fit], rows["batch"][~fit]
        return (fits.max() if len(fits) else 0), (fails.min() if len(fails) else None)

    def text(pair):
        return f"batch {pair[0]} fits" + (f", {pair[1]} fails" if pair[1] is not None else ", none fails")

    reserved = limits(rows["footprint_bytes"])
    live = limits(rows["live_bytes"]) if rows["live_bytes"].notna().any() else None
    # If memory is short, the allocator returns its cache: only live tensors must fit.
    largest, first_failing = live or reserved
    low, high = LARGEST_BATCH * (1 - TOLERANCE), LARGEST_BATCH * (1 + TOLERANCE)
    good = first_failing is not None and low <= largest and LARGEST_BATCH < first_failing <= high
    exact = first_failing is not None and largest <= LARGEST_BATCH < first_failing
    readings = [
        f"by what the allocator reserves: {text(reserved)}; GPU memory {rows['capacity_bytes'].min() / 1e9:.1f} GB"
    ]
    if live:
        readings.append(f"by live tensors: {text(live)}")
    readings.append("under UVM all batch sizes finish: " + ", ".join(map(str, rows["batch"])))
    return Outcome(HOLDS if good and exact else IN_PART if good else FAILS, text(live or reserved), readings)


@claim(
    2,
    "Without oversubscription, UVM with PCA costs next to nothing against no UVM",
    "no significant overhead",
    f"every model within {NO_OVERHEAD:.0%} of the time without UVM (the ideal time)",
)
def no_overhead(paper, _):
    ratios = {
        reading: paper.unlimited("duration_ns", PCA, reading) / paper.unlimited("ideal_ns", PCA, reading)
        for reading in READINGS
    }
    whole = ratios[paper.judged].dropna()
    return Outcome(
        verdict_by_model(whole <= 1 + NO_OVERHEAD),
        f"at most {times(whole.max())} the time without UVM",
        [f"{reading}: {per_model(values, times)}" for reading, values in ratios.items()],
    )


@claim(
    3,
    "Without oversubscription, PCA leaves a small part of the fault handling time (Fig. 2)",
    "small ratio (figure only)",
    f"fault handling time with PCA at most {SMALL_RATIO:.0%} of that without, for every model",
)
def fault_handling(paper, _):
    ratios = {
        reading: paper.unlimited("fault_service_ns", PCA, reading)
        / paper.unlimited("fault_service_ns", NO_PCA, reading)
        for reading in READINGS
    }
    return Outcome(
        verdict_by_model(ratios[paper.judged].dropna() <= SMALL_RATIO),
        f"at most {percent(ratios[paper.judged].max())}, mean {percent(ratios[paper.judged].mean())}",
        [f"{reading}: {per_model(values, percent)}" for reading, values in ratios.items()],
    )


def slowdown_outcome(paper, mode, mean_target, max_target):
    """Compares the mean and the largest slowdown over models and factors above 1 with the paper's."""
    readings, shown = [], {}
    for reading in READINGS:
        for base, measure in (("no limit", "slowdown"), ("factor 1", "slowdown_osf1")):
            values = paper.oversubscribed(measure, mode, reading).stack()
            if values.empty:
                continue
            model, factor = values.idxmax()
            mean, largest = values.mean(), values.max()
            shown.setdefault(reading, (mean, largest))
            readings.append(
                f"{reading}, against {base}: mean {times(mean)}, max {times(largest)} ({MODELS[model]} at {factor:g})"
            )
    if not shown:
        raise MissingData(f"no runs {mode} to compare with")
    mean, largest = shown[paper.judged]
    by_model = paper.oversubscribed("slowdown", mode).mean(axis=1)
    readings.append(f"means of {paper.judged}: {per_model(by_model, times)}")
    lines = paper.sensitivity_lines("alexnet", "slowdown", times)
    readings += [line for line in lines if f"{mode}," in line]
    return Outcome(
        verdict_of(within(mean, mean_target), within(largest, max_target)),
        f"mean {times(mean)}, max {times(largest)}",
        readings,
    )


EXACT_RULE = (
    "mean and maximum over all models and factors above 1 both within 25 %; against the same mode"
    " with the GPU's whole memory"
)


@claim(4, "Slowdown with PCA under oversubscription", "mean 7.29x, max 57.74x", EXACT_RULE)
def slowdown_with(paper, _):
    return slowdown_outcome(paper, PCA, *SLOWDOWN_WITH)


@claim(5, "Slowdown without PCA under oversubscription", "mean 1.75x, max 17.85x", EXACT_RULE)
def slowdown_without(paper, _):
    return slowdown_outcome(paper, NO_PCA, *SLOWDOWN_WITHOUT)


def bend_text(bend):
    return "no bend" if bend is None else f"bends at {bend:g}"


def knee_outcome(paper, model, factor, mode=PCA):
    """Returns whether a model's slowdown grows sharply beyond a factor, and bends there."""

    def shape(curve):
        before, beyond = slopes_around(curve, factor)
        # Next to the first factors a curve may be flat: less than a hundredth per unit of factor does not count as a
        # slope.
        return beyond / max(before, 0.01), knee(curve)

    curves, readings = {}, []
    for one in (PCA, NO_PCA):
        for reading in READINGS:
            table = paper.table("slowdown", one, reading)
            if model in table.index:
                curve = table.loc[model]
                curve = curve[curve.index >= 1].dropna()
                if curve.index.max() > factor and len(curve) >= 4:
                    curves[one, reading] = curve
                    sharpness, bend = shape(curve)
                    readings.append(
                        f"{one}, {reading}: slope beyond {factor:g} is {times(sharpness)} the slope before;"
                        f" {bend_text(bend)}"
                    )
    if (mode, paper.judged) not in curves:
        raise MissingData(f"no runs of {MODELS[model]} {mode} on both sides of the factor {factor:g}")
    curve = curves[mode, paper.judged]
    sharpness, bend = shape(curve)
    ticks = list(curve.index)
    near = bend is not None and factor in ticks and abs(ticks.index(bend) - ticks.index(factor)) <= 1
    refaults = paper.table("reloaded_pages", mode).loc[model]
    texts = ", ".join(f"{one:g}: {value:.3g}" for one, value in refaults[refaults.index >= 1].dropna().items())
    readings.append(f"{mode}, pages migrated to the GPU again after an eviction, per iteration: {texts}")
    simulated = f"{times(sharpness)} as steep beyond {factor:g}; {bend_text(bend)}"
    sharp = sharpness >= SHARP
    return Outcome(HOLDS if sharp and near else IN_PART if sharp else FAILS, simulated, readings)


KNEE_RULE = (
    f"with PCA the slowdown grows at least {SHARP:g} times as fast beyond that factor as up to it, and the two straight"
    " lines that fit it best meet there or one factor beside it"
)


@claim(6, "AlexNet slows down sharply beyond factor 5 (little compute to hide behind)", "knee at 5", KNEE_RULE)
def alexnet_knee(paper, _):
    outcome = knee_outcome(paper, "alexnet", ALEXNET_KNEE)
    outcome.readings += paper.sensitivity_lines("alexnet", "slowdown", times)
    compute = paper.unlimited("kernel_compute_ns", PCA)
    moved = paper.oversubscribed("moved_bytes", PCA).mean(axis=1)
    rates = compute / moved
    outcome.readings.append(
        "compute per byte moved (ns/KB, mean over factors): " + per_model(1000 * rates, lambda value: f"{value:.3g}")
    )
    return outcome


@claim(7, "Whisper slows down sharply beyond factor 6 (thrashing)", "knee at 6", KNEE_RULE)
def whisper_knee(paper, _):
    outcome = knee_outcome(paper, "whisper", WHISPER_KNEE)
    outcome.readings += paper.sensitivity_lines("whisper", "slowdown", times)
    return outcome


def mode_ratios(paper, reading=None):
    """Returns the time without PCA over the time with it: models by factors."""
    return paper.table("duration_ns", NO_PCA, reading) / paper.table("duration_ns", PCA, reading)


@claim(
    8,
    "Without oversubscription, training without PCA takes several times as long",
    "7.22x on average",
    "mean over models within 25 %",
)
def without_allocator(paper, _):
    ratios = {
        reading: paper.unlimited("duration_ns", NO_PCA, reading) / paper.unlimited("duration_ns", PCA, reading)
        for reading in READINGS
    }
    lines = [
        f"{reading}: mean {times(values.mean())}; {per_model(values, times)}" for reading, values in ratios.items()
    ]
    mean = ratios[paper.judged].mean()
    return Outcome(HOLDS if within(mean, WITHOUT_ALLOCATOR) else FAILS, f"mean {times(mean)}", lines)


@claim(
    9,
    "PCA stays faster on average at every factor, by less the higher it is (Fig. 4)",
    "ratio above 1, decreasing",
    f"mean over models above 1 at every factor, and rank correlation with the factor at most {-RANK:g}",
)
def gap_shrinks(paper, _):
    lines, verdict, simulated = [], None, ""
    for reading in READINGS:
        means = mode_ratios(paper, reading).mean()
        means = means[means.index >= 1].dropna()
        if means.empty:
            raise MissingData("no factor with runs in both modes")
        rank = rank_correlation(means)
        lines.append(f"{reading}: " + ", ".join(f"{factor:g}: {times(value)}" for factor, value in means.items()))
        if reading == paper.judged:
            verdict = verdict_of(bool((means > 1).all()), rank <= -RANK)
            simulated = (
                f"{times(means.iloc[0])} at {means.index[0]:g} to {times(means.iloc[-1])} at {means.index[-1]:g}, least"
                f" {times(means.min())}; rank correlation {rank:.2f}"
            )
    return Outcome(verdict, simulated, lines)


@claim(
    10,
    "The ratio of the modes follows from the slowdowns (identity)",
    "ratio = ratio without oversubscription x slowdown without PCA / slowdown with PCA",
    "equal to one part in a million for every model and factor; our arithmetic, which no run can contradict",
)
def identity(paper, _):
    slowdowns = paper.oversubscribed("slowdown", NO_PCA) / paper.oversubscribed("slowdown", PCA)
    first = paper.unlimited("duration_ns", NO_PCA) / paper.unlimited("duration_ns", PCA)
    expected = slowdowns.mul(first, axis=0)
    found = mode_ratios(paper)[expected.columns]
    errors = (found / expected - 1).abs().stack()
    if errors.empty:
        raise MissingData("no model and factor with runs in both modes")
    return Outcome(DEFINITION if errors.max() <= 1e-6 else FAILS, f"largest deviation {errors.max():.1g}")


@claim(
    11,
    "At high factors GPT-2 and BERT suffer less than the CNNs",
    "ranking at factor 10",
    "with PCA, at the highest factor, both slow down less than every CNN (in part: than the CNNs' mean)",
)
def ranking(paper, _):
    lines, verdict, simulated = [], None, ""
    for mode in (PCA, NO_PCA):
        table = paper.oversubscribed("slowdown", mode)
        values = table[table.columns.max()].dropna()
        cnns, language = values[values.index.isin(CNNS)], values[values.index.isin(LANGUAGE_MODELS)]
        if len(cnns) == 0 or len(language) == 0:
            raise MissingData("no CNN and language model to compare")
        lines.append(f"{mode}, at {table.columns.max():g}: {per_model(values.sort_values(), times)}")
        if mode == PCA:
            strict, mean = language.max() < cnns.min(), language.max() < cnns.mean()
            verdict = HOLDS if strict else IN_PART if mean else FAILS
            simulated = f"{per_model(language, times)}; CNNs {times(cnns.min())} to {times(cnns.max())}"
    return Outcome(verdict, simulated, lines)


@claim(
    12,
    "Training still completes at factor 10, far beyond the usual advice of 1.25",
    "completes",
    f"every model finishes {ITERATIONS} iterations at factor 10 in both modes; a replay always does, whatever it takes",
)
def completes(paper, _):
    lines, done, wanted = [], 0, 0
    for mode in (PCA, NO_PCA):
        rows = (
            paper.rows[(paper.rows["mode"] == mode) & (paper.rows["reading"] == ALL)] if paper.rows is not None else []
        )
        rows = rows[rows["osf"] == 10.0] if len(rows) else rows
        finished = set(rows[rows["length"] >= ITERATIONS]["program"]) if len(rows) else set()
        wanted += len(MODELS)
        done += len(finished)
        short = [MODELS[model] for model in MODELS if model not in finished]
        lines.append(f"{mode}: " + ("all finished" if not short else "not finished or shorter: " + ", ".join(short)))
    if done == 0 and paper.rows is None:
        raise MissingData("no runs of the six models")
    worst = max(
        (paper.table("slowdown", mode)[10.0].max() for mode in (PCA, NO_PCA) if 10.0 in paper.table("slowdown", mode)),
        default=float("nan"),
    )
    simulated = f"{done} of {wanted} finish; slowdown at most {times(worst)}"
    return Outcome(DEFINITION if done == wanted else IN_PART if done else FAILS, simulated, lines)
