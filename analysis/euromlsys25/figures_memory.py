# SPDX-License-Identifier: Apache-2.0
"""Figures 5 to 9: accesses of kernels, faults and migrations."""

from analysis.euromlsys25.figures_time import BAR_ENDS, FACTOR, curves, limited, with_spread
from analysis.euromlsys25.paper import MODELS, NO_PCA, PCA, MissingData
from analysis.series import bars_between
from analysis.style import COLOURS, GREY, arrange, bar_look, factor_ticks, grid_of, legend_of

MODES = (PCA, NO_PCA)


def models_of(tables):
    return [model for model in MODELS if any(model in table.index for table in tables.values())]


def tables_of(paper, measure, unit):
    """Returns both modes in units of `unit`: {mode: table} and {mode: (smallest, largest over the seeds)}."""
    both = {mode: with_spread(paper, lambda one: one.table(measure, mode) / unit) for mode in MODES}
    return {mode: table for mode, (table, _) in both.items()}, {mode: ends for mode, (_, ends) in both.items()}


def kernel_sets(pyplot, paper, kernels):
    """Fig. 5: the memory that each kernel of the first five iterations touches, and its distribution."""
    if kernels is None:
        raise MissingData("no working sets of kernels (profiles of the models)")
    models = [model for model in MODELS if model in set(kernels["program"])]
    figure, axes = pyplot.subplots(2, len(models), figsize=(max(1.75 * len(models) + 0.5, 3.2), 3.9), squeeze=False)
    for column, model in enumerate(models):
        members = kernels[kernels["program"] == model].reset_index(drop=True)
        part = 100 * members["touched_bytes"] / members["footprint_bytes"]
        top, bottom = axes[0][column], axes[1][column]
        # Thousands of marks are drawn as pixels, because the PDF would become large.
        top.plot(part.index, part, ".", markersize=1.5, color=COLOURS[0], rasterized=True)
        for start in members.index[members["iteration"].diff() > 0]:
            top.axvline(start, color=GREY, linewidth=0.6, linestyle=":")
        top.set_ylim(0, max(1.08 * part.max(), 1))
        top.set_title(MODELS[model])
        top.set_xlabel("kernel, in order")
        ordered = part.sort_values().clip(lower=1e-4)
        bottom.plot(ordered, [100 * (rank + 1) / len(ordered) for rank in range(len(ordered))], color=COLOURS[1])
        bottom.set_xscale("log")
        bottom.set_xlim(1e-4, 100)
        bottom.set_xticks([1e-4, 1e-2, 1, 100], ["0.0001", "0.01", "1", "100"])
        bottom.set_ylim(0, 102)
        bottom.set_xlabel("touched (%)")
    axes[0][0].set_ylabel("touched\n(% of footprint)")
    axes[1][0].set_ylabel("kernels that touch\nat most that (%)")
    arrange(figure)
    return figure


def faults(pyplot, paper, _):
    """Fig. 6: fault batches per iteration against the factor, per model, with PCA and without."""
    figure, axes = pyplot.subplots(1, 2, figsize=(6.8, 3.2), sharey=True)
    everything = []
    for axis, mode, letter in zip(axes, MODES, "ab"):
        table, ends = with_spread(paper, lambda one: limited(one, "fault_batches", mode) / 1e3)
        curves(axis, table, ends)
        everything += list(ends[1].stack())
        factor_ticks(axis, list(table.columns), narrow=True)
        axis.set_xlabel(FACTOR)
        axis.set_title(f"({letter}) {mode}")
    axes[0].set_ylim(0, 1.08 * max(everything, default=1))
    axes[0].set_ylabel("fault batches per iteration (thousands)")
    arrange(figure, "", *legend_of(axes))
    return figure


def read_and_write(pyplot, paper, _):
    """Fig. 7: shares of read and write faults against the factor."""
    tables, ends = tables_of(paper, "read_share", 0.01)
    models = models_of(tables)
    figure, axes = pyplot.subplots(
        2, len(models), figsize=(max(1.55 * len(models) + 0.6, 3.2), 3.9), sharey=True, squeeze=False
    )
    for row, mode in enumerate(MODES):
        for column, model in enumerate(models):
            axis = axes[row][column]
            table = tables[mode]
            shares = table.loc[model] if model in table.index else table.iloc[0] * float("nan")
            shares = shares[shares.index >= 1]
            places = range(len(shares))
            axis.bar(places, shares.fillna(0), 0.85, label="read faults", **bar_look(0))
            known = 100 * shares.notna()
            axis.bar(
                places, known - shares.fillna(0), 0.85, bottom=shares.fillna(0), label="write faults", **bar_look(1)
            )
            if model in table.index:
                low, high = (end.loc[model].reindex(shares.index) for end in ends[mode])
                bars_between(axis, places, shares, low, high, BAR_ENDS)
            for place, missing in zip(places, shares.isna()):
                if missing and model in table.index:
                    axis.annotate("none", (place, 2), rotation=90, ha="center", fontsize=6, color=GREY)
            axis.set_xticks(places, [f"{factor:g}" for factor in shares.index], rotation=90, fontsize=7)
            axis.set_ylim(0, 100)
            axis.grid(False, axis="x")
            if row == 0:
                axis.set_title(MODELS[model])
                axis.tick_params(labelbottom=False)
            else:
                axis.set_xlabel("factor")
        axes[row][0].set_ylabel(f"{mode}\nfault batches (%)")
    arrange(figure, "", *legend_of(axes.flat))
    return figure


def bars(axis, tables, ends, model):
    """A pair of bars per factor: with PCA and without."""
    factors = sorted({factor for table in tables.values() for factor in table.columns if factor >= 1})
    for number, (mode, table) in enumerate(tables.items()):
        if model in table.index:
            values = table.loc[model].reindex(factors)
            places = [place + 0.42 * number - 0.21 for place in range(len(factors))]
            axis.bar(places, values, 0.42, label=mode, **bar_look(number))
            low, high = (end.loc[model].reindex(factors) for end in ends[mode])
            bars_between(axis, places, values, low, high, BAR_ENDS)
    axis.set_xticks(range(len(factors)), [f"{factor:g}" for factor in factors], rotation=90, fontsize=7)
    axis.set_xlim(-0.6, len(factors) - 0.4)
    axis.grid(False, axis="x")


def migrations(pyplot, paper, _):
    """Fig. 8: migration transactions per iteration of both directions, with and without PCA."""
    tables, ends = tables_of(paper, "transactions", 1e6)
    models = models_of(tables)
    figure, axes = grid_of(pyplot, len(models), width=2.2, height=1.75)
    for axis, model in zip(axes, models):
        bars(axis, tables, ends, model)
        axis.set_title(MODELS[model])
        if axis.get_subplotspec().is_first_col():
            axis.set_ylabel("transactions\nper iteration (million)")
        if axis.get_subplotspec().is_last_row():
            axis.set_xlabel(FACTOR)
    arrange(figure, "", *legend_of(axes))
    return figure


def migrated_bytes(pyplot, paper, _):
    """Fig. 9: migrated bytes per iteration, and bytes per transaction, with and without PCA."""
    sizes, size_ends = tables_of(paper, "moved_bytes", 1e9)
    per, per_ends = tables_of(paper, "bytes_per_transaction", 1e3)
    models = models_of(sizes)
    figure, axes = pyplot.subplots(2, len(models), figsize=(max(1.65 * len(models) + 0.6, 3.2), 3.9), squeeze=False)
    highest = max(high.stack().max() for _, high in per_ends.values() if len(high.stack()))
    for column, model in enumerate(models):
        top, bottom = axes[0][column], axes[1][column]
        bars(top, sizes, size_ends, model)
        bars(bottom, per, per_ends, model)
        top.set_title(MODELS[model])
        top.tick_params(labelbottom=False)
        bottom.set_ylim(0, 1.08 * highest)
        bottom.set_xlabel("factor")
    axes[0][0].set_ylabel("migrated\nper iteration (GB)")
    axes[1][0].set_ylabel("KB per transaction")
    arrange(figure, "", *legend_of(axes.flat))
    return figure
