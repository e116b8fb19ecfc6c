# SPDX-License-Identifier: Apache-2.0
"""The data of the paper's sweep for claims and figures: tables of model by oversubscription factor.

The paper trains six models for ten iterations under UVM, with PyTorch's caching allocator (PCA) and without. It does
not say that any of them is left out, so that verdicts judge all ten. Both readings are kept:
- ALL: all iterations of the run, the first one with its first touches included;
- SETTLED: the mean iteration after the warm-up.
One rule gives the memory of every run, in both modes: the memory that the program itself reserves with the caching
allocator (workloads/paper/memory.json), divided by the factor. The paper divides the footprints of its Table 2, which
are such reserved bytes too. "No oversubscription" is the run with the GPU's whole memory.

"Available memory" can be read in two ways:
- (a) free when the context exists and before the program loads anything, which is what one can set: the code of kernels,
  queues and handles, 94 to 114 MiB of these programs, then take their part of it, as do the 128 to 130 MiB that
  libraries allocate for themselves. It judges every claim.
- (b) left for managed memory while the program runs (runtime.device_memory_beside). Its verdicts stand beside.

Points whose memory is given in bytes are sensitivities: they judge nothing, and stand beside the claims, named. So do
points with other settings of the system than most.

Where a point ran with several seeds, tables hold the means; `spread` gives the smallest and largest.
"""

import copy
import functools
import re

import numpy

import pandas

from analysis.errors import ResultError
from analysis.frame import iterations, made_by_text, moved_bytes, settled, transactions, whole_runs

MODELS = {
    "alexnet": "AlexNet",
    "resnet50": "ResNet-50",
    "resnet101": "ResNet-101",
    "gpt2": "GPT-2",
    "bert": "BERT",
    "whisper": "Whisper",
}
CNNS = ("alexnet", "resnet50", "resnet101")
LANGUAGE_MODELS = ("gpt2", "bert")
PCA, NO_PCA = "with PCA", "without PCA"
MODES = {"pytorch_caching": PCA, "none": NO_PCA}
SETTLED, ALL = "settled iterations", "all iterations"
READINGS = (ALL, SETTLED)
# The column of runs with the GPU's whole memory, beside the oversubscription factors.
NO_LIMIT = 0.0
FACTORS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
ITERATIONS = 10
# Table 2, in MiB: the paper's dividends of factors; used here only for a sensitivity.
FOOTPRINT_MIB = {
    "alexnet": 5316,
    "resnet50": 15952,
    "resnet101": 22588,
    "gpt2": 12008,
    "bert": 12350,
    "whisper": 9824,
}
BATCH_NAME = re.compile(r"gpt2_b(\d+)$")
# The batch size of the trace "gpt2".
GPT2_BATCH = 8

SUMMED = (
    "duration_ns ideal_ns fault_batches read_fault_batches write_fault_batches faulting_pages fault_service_ns htod_busy_ns"
    " dtoh_busy_ns reloaded_pages evictions kernel_ns kernel_compute_ns host_allocation_ns transactions"
    " htod_transactions dtoh_transactions moved_bytes htod_bytes dtoh_bytes"
).split()
# The identity of a row of measures of one seed, and that of its baseline.
POINT = ["program", "mode", "osf", "reading", "seed"]
BASE = ["program", "mode", "reading", "seed"]


class MissingData(Exception):
    """The results lack data that a claim or a figure needs; the message names them."""


def with_sums(rows):
    """Adds transactions and bytes over all causes."""
    rows = rows.copy()
    for direction in ("htod", "dtoh"):
        count, size = transactions(rows, direction), moved_bytes(rows, direction)
        rows[f"{direction}_transactions"], rows[f"{direction}_bytes"] = count, size
    rows["transactions"] = rows["htod_transactions"] + rows["dtoh_transactions"]
    rows["moved_bytes"] = rows["htod_bytes"] + rows["dtoh_bytes"]
    return rows


def with_shares(rows):
    """Adds derived measures, from sums: shares and sizes per transfer."""
    rows = rows.copy()
    known = rows["read_fault_batches"] + rows["write_fault_batches"]
    rows["read_share"] = rows["read_fault_batches"] / known
    rows["write_share"] = rows["write_fault_batches"] / known
    rows["imbalance"] = (rows["read_share"] - rows["write_share"]).abs()
    rows["bytes_per_transaction"] = rows["moved_bytes"] / rows["transactions"]
    rows["fault_time_share"] = rows["fault_service_ns"] / rows["duration_ns"]
    return rows.replace([float("inf")], float("nan"))


def mean_of_seeds(rows):
    """Merges rows that differ only in their seed; other rows stay unchanged."""
    if rows is None or rows["seed"].nunique() < 2:
        return rows
    same = [name for name in ("program", "mode", "osf", "reading", "setting", "given", "capacity_bytes") if name in rows]
    numbers = [name for name in rows.select_dtypes("number") if name not in (*same, "point", "seed")]
    means = rows.groupby(same, sort=False, dropna=False)[numbers].transform("mean")
    return rows.assign(**means).drop_duplicates(same)


def spread(paper, measure):
    """Returns the smallest and largest of `measure` over the seeds: two tables or columns as it returns."""
    whole = measure(paper)
    each = [measure(one).reindex(whole.index) for one in paper.each_seed()]
    if whole.ndim == 2:
        each = [one.reindex(columns=whole.columns) for one in each]
    return functools.reduce(numpy.fmin, each), functools.reduce(numpy.fmax, each)


def one_value(rows, column, what):
    values = list(dict.fromkeys(rows[column]))
    if len(values) > 1:
        raise ResultError(f"several {what} in one set of results: {', '.join(map(str, values))}; allowed: one")
    return values[0]


def refuse_contradictions(rows):
    """Refuses a point that is present twice with different results."""
    different = rows.groupby(POINT)["duration_ns"].transform("nunique") > 1
    if different.any():
        row = rows[different].iloc[0]
        raise ResultError(
            f"two different results of {MODELS.get(row['program'], row['program'])} {row['mode']} at"
            f" {factor_text(row['osf'])}; allowed: one set of results"
        )


class Paper:
    """The paper's sweep by one reading of available memory, (a) or with `beside` (b). Claims and figures read
    `table(measure, mode)` over the iterations `judged`."""

    def __init__(self, frame, beside=False):
        frame = frame[(frame["status"] == "ok") & frame["layout name"].isin(list(MODES))]
        frame = frame[frame["beside"].fillna(False).astype(bool) == beside]
        batches = frame["program"].str.match(BATCH_NAME)
        known = frame[frame["program"].isin(list(MODELS)) | batches]
        if known.empty:
            raise ResultError(
                f"no results of the paper's models; allowed: {', '.join(MODELS)} under the layouts {', '.join(MODES)}"
            )
        self.judged = ALL
        self.made_by = made_by_text(known)
        self.system = one_value(known, "system", "systems")
        self.policies = one_value(known, "policies", "combinations of policies")
        self.whole = one_value(known, "whole", "sweeps")
        models = known[~known["program"].str.match(BATCH_NAME)]
        usual = models["setting"].mode()
        apart = (models["limit"] == "capacity") | ~models["setting"].isin(usual[:1])
        self._tables = {}  # cache
        self._rows = self._measure(models[~apart])
        self.rows = mean_of_seeds(self._rows)
        self.sensitivities = mean_of_seeds(self._measure_sensitivities(models[apart]))
        self._batches = self._measure_batches(known)
        self.batches = mean_of_seeds(self._batches)

    def each_seed(self):
        """Returns this paper with the runs of one seed, for every seed."""
        tables = [table for table in (self._rows, self._batches) if table is not None]
        views = []
        for seed in dict.fromkeys(seed for table in tables for seed in table["seed"]):
            view = copy.copy(self)
            view._tables = {}
            for name in ("rows", "batches"):
                table = getattr(self, "_" + name)
                setattr(view, name, None if table is None else table[table["seed"] == seed])
            views.append(view)
        return views

    def _prepare(self, frame):
        """Returns one row per point and reading."""
        runs = whole_runs(frame).set_index("point")
        each = with_sums(iterations(frame))
        if each["ideal_ns"].isna().any():
            raise ResultError("results of an older version, without ideal times of iterations; run the sweep again")
        summed = each.groupby("point", sort=False)[SUMMED].sum()
        typical = with_sums(settled(frame)).set_index("point")[SUMMED]
        readings = []
        for name, values in ((SETTLED, typical), (ALL, summed)):
            values = with_shares(values).assign(reading=name)
            for column in ("program", "layout name", "capacity_bytes", "footprint_bytes", "length", "seed"):
                values[column] = runs[column]
            values["osf"] = runs["osf"].where(runs["limit"] != "none", NO_LIMIT)
            values["mode"] = runs["layout name"].map(MODES)
            readings.append(values.reset_index())
        rows = pandas.concat(readings, ignore_index=True)
        refuse_contradictions(rows)
        return rows.drop_duplicates(POINT, keep="last")

    def _measure(self, frame):
        if frame.empty:
            return None
        rows = self._prepare(frame)
        for name, factor in (("slowdown", NO_LIMIT), ("slowdown_osf1", 1.0)):
            base = rows[rows["osf"] == factor].set_index(BASE)["duration_ns"].rename("base_ns")
            rows[name] = rows["duration_ns"] / rows.join(base, on=BASE)["base_ns"]
        return rows

    def _measure_sensitivities(self, frame):
        """Computes the slowdown of the sensitivities' points against the same program with the GPU's whole memory."""
        if frame.empty:
            return None
        parts = []
        for other, members in frame.groupby("setting", sort=False):
            parts.append(self._prepare(members).assign(setting=other))
        rows = pandas.concat(parts, ignore_index=True)
        rows["given"] = rows["point"].isin(frame[frame["limit"] == "capacity"]["point"])
        every = rows if self._rows is None else pandas.concat([self._rows, rows], ignore_index=True)
        base = every[every["osf"] == NO_LIMIT].drop_duplicates(BASE).set_index(BASE)["duration_ns"].rename("base_ns")
        return rows.assign(slowdown=rows["duration_ns"] / rows.join(base, on=BASE)["base_ns"])

    def _measure_batches(self, frame):
        """Returns one row per batch size of GPT-2 with the GPU's whole memory, with PCA; `live_bytes` is the peak of
        live tensors if the sweep has the run without PCA too."""
        frame = frame[frame["program"].str.match(BATCH_NAME) | (frame["program"] == "gpt2")]
        frame = frame[frame["limit"] == "none"]
        if not frame["program"].str.match(BATCH_NAME).any():
            return None
        rows = self._prepare(frame)
        rows = rows[rows["reading"] == SETTLED].copy()
        sizes = rows["program"].str.extract(BATCH_NAME)[0].astype(float)
        rows["batch"] = sizes.fillna(GPT2_BATCH).astype(int)
        live = rows[rows["mode"] == NO_PCA].drop_duplicates("batch").set_index("batch")["footprint_bytes"]
        rows = rows[rows["mode"] == PCA].sort_values("batch")
        return rows.assign(live_bytes=rows["batch"].map(live))

    def table(self, measure, mode, reading=None):
        """Returns models (rows) by factors (columns, NO_LIMIT first) of one measure. Raises MissingData without any."""
        if self.rows is None:
            raise MissingData("no runs of the six models")
        key = (measure, mode, reading or self.judged)
        if key not in self._tables:
            self._tables[key] = self._table(*key)
        return self._tables[key].copy()

    def _table(self, measure, mode, reading):
        chosen = self.rows[(self.rows["mode"] == mode) & (self.rows["reading"] == reading)]
        if chosen.empty:
            raise MissingData(f"no runs {mode}")
        table = chosen.pivot(index="program", columns="osf", values=measure)
        return table.reindex([model for model in MODELS if model in table.index])

    def oversubscribed(self, measure, mode, reading=None):
        """Returns the same for factors above 1."""
        table = self.table(measure, mode, reading)
        above = table[[factor for factor in table.columns if factor > 1]]
        if above.shape[1] == 0:
            raise MissingData("no runs with an oversubscription factor above 1")
        return above

    def unlimited(self, measure, mode, reading=None):
        """Returns one value per model without oversubscription: with the GPU's whole memory, or else at the factor
        1."""
        table = self.table(measure, mode, reading)
        for factor in (NO_LIMIT, 1.0):
            if factor in table.columns:
                return table[factor]
        raise MissingData("no runs without oversubscription")

    def _memory_text(self, row):
        """Describes a sensitivity's memory."""
        capacity = row["capacity_bytes"]
        memory = f"{capacity / (1 << 20):.0f} MiB"
        if not row["given"]:
            return f"other settings of the system at {row['osf']:g} ({memory})"
        for factor in FACTORS:
            if abs(capacity - (FOOTPRINT_MIB[row["program"]] << 20) / factor) < 1:
                return f"the paper's footprint over {factor:g} ({memory})"
        return memory

    def sensitivity_lines(self, model, measure, form, reading=None):
        """Returns one line per sensitivity of this model with the value of a measure."""
        reading = reading or self.judged
        if self.sensitivities is None:
            return []
        rows = self.sensitivities
        rows = rows[(rows["program"] == model) & (rows["reading"] == reading) & (rows["osf"] != NO_LIMIT)]
        return [
            f"sensitivity: {row['mode']}, {reading}, with {self._memory_text(row)}: {measure} {form(row[measure])}"
            for _, row in rows.iterrows()
        ]

    def missing(self):
        """Lists the points of the paper's grid that these results lack, one text each."""
        lacking = []
        for mode in MODES.values():
            for model, name in MODELS.items():
                have = set()
                if self.rows is not None:
                    chosen = (self.rows["program"] == model) & (self.rows["mode"] == mode)
                    have = set(self.rows[chosen]["osf"])
                absent = [factor for factor in (NO_LIMIT, *FACTORS) if factor not in have]
                if absent:
                    texts = ["all" if len(absent) > len(FACTORS) else ", ".join(factor_text(one) for one in absent)]
                    lacking.append(f"{name} {mode}: {texts[0]}")
        return lacking


def factor_text(factor):
    return "no limit" if factor == NO_LIMIT else f"{factor:g}"


def per_model(values, form):
    """Returns "AlexNet 1.2x, ..." from a value per model."""
    known = {model: values[model] for model in MODELS if model in values and not pandas.isna(values[model])}
    return ", ".join(f"{MODELS[model]} {form(value)}" for model, value in known.items())
