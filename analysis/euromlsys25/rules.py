# SPDX-License-Identifier: Apache-2.0
"""The elements of the claims' rules: verdicts, limits, trends, and the point where a curve bends.

All limits are here, and were fixed before the sweep ran. Those called the paper's are quoted from its text; where it
gives a trend or a figure only, the limit is ours.
"""

import dataclasses

import numpy

HOLDS, IN_PART, FAILS, NO_DATA = "holds", "holds in part", "does not hold", "no data"
# The verdict for a claim that no simulation could contradict: an identity, or a property of every simulation.
DEFINITION = "definition"

# The paper's: E1 the largest batch of GPT-2 that runs without UVM; E4 and E5 slowdowns, mean and largest; E6 and E7 the
# factors beyond which AlexNet and Whisper slow down sharply; E8 the time without PCA over that with; E15 "about half";
# E19 "two to three times"; E21 "about 200 times"; E16 all faults are writes (no rounding gives less than 100 %).
LARGEST_BATCH = 80
SLOWDOWN_WITH, SLOWDOWN_WITHOUT = (7.29, 57.74), (1.75, 17.85)
ALEXNET_KNEE, WHISPER_KNEE = 5.0, 6.0
WITHOUT_ALLOCATOR = 7.22
HALF, MORE_TRANSACTIONS, ALEXNET_TRAFFIC = 0.5, (2, 3), 200
ALL_WRITES = 0.995

# Ours. E2 "no significant overhead": up to here it is not significant.
NO_OVERHEAD = 0.10
# E3 "a small part": up to here.
SMALL_RATIO = 0.25
# E6, E7 "sharply": beyond the knee the slowdown grows at least this many times as fast as before.
SHARP = 2.0
# E13: a kernel is small up to this part of the footprint, most kernels are at least this share, and the largest kernel
# is far from the footprint up to this part.
SMALL_KERNEL, MOST_KERNELS, LARGEST_KERNEL = 0.05, 0.80, 0.60
# E14: from the lowest factor above 1 to the highest, faults grow at least this much, and are correlated with the time
# at least this closely.
SHARP_GROWTH, CLOSE = 2.0, 0.9
# E15: a curve whose highest mean is at most this many times its lowest is flat.
FLAT = 1.5
# E20: two sizes are similar within this relative difference.
SIMILAR = 0.25
# Numbers that the paper states exactly are met within this relative difference.
TOLERANCE = 0.25
# A trend rises (or falls) where the rank correlation with the factor is at least (or at most minus) this.
RANK = 0.8
# Per model: a claim holds in part where at least this share of the models meets it.
MOST = 2 / 3


@dataclasses.dataclass
class Outcome:
    verdict: str
    simulated: str  # the numbers, short
    readings: list = dataclasses.field(default_factory=list)  # other readings of the claim, and details; one line each
    settled: str = ""  # the verdict of settled iterations alone
    beside: str = ""  # the verdict if available memory is what is left for managed data


def within(value, target, tolerance=TOLERANCE):
    return bool(abs(value - target) <= tolerance * target)


def within_range(value, low, high, tolerance=TOLERANCE):
    return bool(low * (1 - tolerance) <= value <= high * (1 + tolerance))


def verdict_of(*parts):
    """Returns the verdict: all hold, some hold, or none."""
    return HOLDS if all(parts) else IN_PART if any(parts) else FAILS


def verdict_by_model(passed):
    """`passed` has one truth value per model, at least one."""
    share = sum(map(bool, passed)) / len(passed)
    return HOLDS if share == 1 else IN_PART if share >= MOST else FAILS


def rank_correlation(values):
    """Returns Spearman's correlation of a series with its index; nan if it is constant or has fewer than three
    points."""
    values = values.dropna()
    if len(values) < 3 or values.nunique() < 2:
        return float("nan")
    ranks = values.rank()
    places = ranks.index.to_series().rank()
    return float(numpy.corrcoef(ranks, places)[0, 1])


def correlation(first, second):
    """Returns Pearson's correlation of two series over their common index; nan if one is constant."""
    both = first.index.intersection(second.index)
    first, second = first[both].astype(float), second[both].astype(float)
    known = first.notna() & second.notna()
    if known.sum() < 3 or first[known].nunique() < 2 or second[known].nunique() < 2:
        return float("nan")
    return float(numpy.corrcoef(first[known], second[known])[0, 1])


def slopes_around(curve, factor):
    """Returns (mean slope up to the factor, mean slope beyond it) of a curve over factors."""
    curve = curve.dropna()
    below, above = curve[curve.index <= factor], curve[curve.index >= factor]

    def slope(part):
        if len(part) < 2:
            return float("nan")
        return float((part.iloc[-1] - part.iloc[0]) / (part.index[-1] - part.index[0]))

    return slope(below), slope(above)


def knee(curve):
    """Returns the factor at which two straight lines, joined there, fit the curve best; None if it does not bend
    upwards."""
    curve = curve.dropna().astype(float)
    factors, values = curve.index.to_numpy(dtype=float), curve.to_numpy()
    best = None
    for place in range(1, len(factors) - 1):
        bend = numpy.maximum(0, factors - factors[place])
        matrix = numpy.column_stack([numpy.ones_like(factors), factors, bend])
        solution = numpy.linalg.lstsq(matrix, values, rcond=None)[0]
        error = float(((matrix @ solution - values) ** 2).sum())
        if best is None or error < best[0] * (1 - 1e-9):
            best = (error, float(factors[place]), float(solution[2]))
    return best[1] if best and best[2] > 1e-9 else None


def times(value):
    return f"{value:.3g}x" if value < 1000 else f"{value:.0f}x"


def percent(share):
    return f"{100 * share:.1f} %"
