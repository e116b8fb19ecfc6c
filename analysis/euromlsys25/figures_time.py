# SPDX-License-Identifier: Apache-2.0
"""Figures 1 to 4: the time of training."""

from analysis.euromlsys25.claims_time import mode_ratios as ratios_of
from analysis.euromlsys25.paper import ALL, MODELS, NO_LIMIT, NO_PCA, PCA, MissingData, spread
from analysis.series import bars_between
from analysis.style import COLOURS, arrange, bar_look, factor_ticks, legend_of, look, ratio_scale

FACTOR = "oversubscription factor"
# The colour of error bars on bars.
BAR_ENDS = "#222222"


def model_look(model):
    """The same colour and marker for a model in every figure."""
    return look(list(MODELS).index(model))


def with_spread(paper, measure):
    """Returns the means of `measure` for the paper, and its smallest and largest over the seeds."""
    return measure(paper), spread(paper, measure)


def limited(paper, measure, mode):
    """Returns models by factors of one measure, without the runs that have the GPU's whole memory."""
    table = paper.table(measure, mode)
    return table[[factor for factor in table.columns if factor != NO_LIMIT]]


def curves(axis, table, ends, **style):
    """Draws a curve per model over the factors, with error bars where seeds differ."""
    for model in table.index:
        curve = table.loc[model].dropna()
        axis.plot(curve.index, curve, label=MODELS[model], **style, **model_look(model))
        low, high = (end.loc[model].reindex(curve.index) for end in ends)
        bars_between(axis, curve.index, curve, low, high, model_look(model)["color"])


def batch_sizes(pyplot, paper, _):
    """Fig. 1: time per iteration of GPT-2 against the batch size, without UVM (fails beyond the memory) and with."""
    rows = paper.batches
    if rows is None:
        raise MissingData("no batch sweep of GPT-2")
    live = rows["live_bytes"].fillna(rows["footprint_bytes"])
    fits = live <= rows["capacity_bytes"]
    figure, axis = pyplot.subplots(figsize=(4.6, 3.0))
    # A wide line below a narrow one: both stay visible where they coincide.
    axis.plot(rows["batch"], rows["duration_ns"] / 1e9, label="UVM with PCA", linewidth=3.2, markersize=7, **look(1))
    axis.plot(rows["batch"][fits], rows["ideal_ns"][fits] / 1e9, label="no UVM", **look(0))
    times, (low, high) = with_spread(paper, lambda one: one.batches.set_index("batch")["duration_ns"] / 1e9)
    bars_between(axis, times.index, times, low, high, look(1)["color"])
    if (~fits).any():
        last = rows["batch"].max()
        begin = (rows["batch"][fits].max() + rows["batch"][~fits].min()) / 2
        axis.axvspan(begin, last * 1.04, color="#e8e8e8", zorder=0)
        axis.annotate(
            "no UVM:\nout of\nmemory",
            (begin, 0),
            (4, 4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize=8,
        )
        axis.set_xlim(right=last * 1.04)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("batch size (sequences of 512 tokens)")
    axis.set_ylabel("time per iteration (s)")
    axis.set_title("GPT-2 training")
    arrange(figure, "", *legend_of([axis]))
    return figure


def fault_handling(pyplot, paper, _):
    """Fig. 2: fault handling without oversubscription, as a part of the run's time, with and without PCA."""
    figure, axis = pyplot.subplots(figsize=(5.2, 2.8))
    for number, mode in enumerate((PCA, NO_PCA)):
        shares, (low, high) = with_spread(paper, lambda one: 100 * one.unlimited("fault_time_share", mode, ALL))
        places = [list(MODELS).index(model) + 0.4 * number - 0.2 for model in shares.index]
        axis.bar(places, shares, 0.4, label=mode, **bar_look(number))
        bars_between(axis, places, shares, low, high, BAR_ENDS)
        for place, share in zip(places, shares):
            axis.annotate(f"{share:.0f}", (place, share), (0, 2), textcoords="offset points", ha="center", fontsize=7)
    axis.set_xticks(range(len(MODELS)), [name.replace("-1", "-\n1") for name in MODELS.values()])
    axis.set_xlim(-0.6, len(MODELS) - 0.4)
    axis.grid(False, axis="x")
    axis.set_ylim(0, 108)
    axis.set_ylabel("fault handling (% of run time)")
    axis.set_title("No oversubscription, all iterations")
    arrange(figure, "", *legend_of([axis]))
    return figure


def slowdowns(pyplot, paper, _):
    """Fig. 3: slowdown against the factor, per model, with PCA and without."""
    figure, axes = pyplot.subplots(1, 2, figsize=(6.8, 3.2))
    for axis, mode, letter in zip(axes, (PCA, NO_PCA), "ab"):
        table, ends = with_spread(paper, lambda one: limited(one, "slowdown", mode))
        curves(axis, table, ends)
        axis.axhline(1, color="#888888", linewidth=0.8, zorder=0)
        factor_ticks(axis, list(table.columns), narrow=True)
        ratio_scale(axis, list(table.stack()) + [1], threshold=8)
        axis.set_xlabel(FACTOR)
        axis.set_title(f"({letter}) {mode}")
    axes[0].set_ylabel("slowdown (× same mode, no limit)")
    arrange(figure, "", *legend_of(axes))
    return figure


def mode_ratios(pyplot, paper, _):
    """Fig. 4: time without PCA over time with it, per factor; the mean over models is the claim."""
    table, ends = with_spread(paper, ratios_of)
    if table.dropna(how="all").empty:
        raise MissingData("no model and factor with runs in both modes")
    table = table[[factor for factor in table.columns if factor >= 1]].dropna(axis=1, how="all")
    figure, axis = pyplot.subplots(figsize=(4.8, 3.2))
    curves(axis, table, ends, linewidth=0.9)
    means, (low, high) = with_spread(paper, lambda one: ratios_of(one).reindex(columns=table.columns).mean())
    axis.plot(means.index, means, color=COLOURS[-1], linewidth=2.4, linestyle="--", label="mean")
    bars_between(axis, means.index, means, low, high, COLOURS[-1])
    axis.axhline(1, color="#888888", linewidth=0.8, zorder=0)
    factor_ticks(axis, list(table.columns))
    ratio_scale(axis, list(table.stack()) + [1], threshold=8)
    axis.set_xlabel(FACTOR)
    axis.set_ylabel("time without PCA / with PCA (×)")
    arrange(figure, "", *legend_of([axis]))
    return figure
