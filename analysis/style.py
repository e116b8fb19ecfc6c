# SPDX-License-Identifier: Apache-2.0
"""One look for all figures: readable in print, without colour, and by colour-blind readers; atomic output files."""

import os

from analysis.errors import ResultError
from analysis.files import whole_file

# Okabe and Ito, "Color Universal Design" (2008), darkest first; yellow is left out, it fades on paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# A series is told apart by its marker alone, a bar by its hatch alone.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "////", "....", "\\\\\\\\", "xx", "++", "oo")
GREY = "#666666"


def load_pyplot():
    """matplotlib.pyplot, set up to draw into files."""
    try:
        import matplotlib
    except ImportError as error:
        raise ResultError("cannot import matplotlib; install python3-matplotlib and use /usr/bin/python3") from error
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#dddddd",
            "grid.linewidth": 0.6,
            "lines.linewidth": 1.4,
            "lines.markersize": 5,
            "legend.frameon": False,
            "legend.fontsize": 8,
            "hatch.linewidth": 0.6,
            "savefig.dpi": 200,
            # Text stays text, so that a paper's figure can be searched.
            "pdf.fonttype": 42,
        }
    )
    from matplotlib import pyplot

    return pyplot


def look(number):
    """Colour and marker of series `number`: 49 different pairs."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[(number + number // len(COLOURS)) % len(MARKERS)],
    }


def bar_look(number):
    return {
        "color": COLOURS[number % len(COLOURS)],
        "hatch": HATCHES[(number + number // len(COLOURS)) % len(HATCHES)],
        "edgecolor": "white",
        "linewidth": 0.4,
    }


def factor_ticks(axis, factors, labelled=True, narrow=False):
    """Oversubscription factors on a logarithmic x axis: every one marked, a number where there is room."""
    factors = sorted(set(factors))
    axis.set_xscale("log")
    shown = []
    for factor in reversed(factors):
        if not shown or factor <= shown[-1] / (1.24 if narrow else 1.13):
            shown.append(factor)
    shown.reverse()
    axis.set_xticks(shown, [f"{factor:g}" if labelled else "" for factor in shown])
    axis.set_xticks(factors, [], minor=True)
    axis.set_xlim(factors[0] / 1.09, factors[-1] * 1.09)


def ratio_scale(axis, values, threshold=20):
    """A logarithmic y axis with plain numbers where the values span more than `threshold`, else one from 0."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values = [value for value in values if value > 0]
    if values and max(values) / min(values) > threshold:
        axis.set_yscale("log")
        few_decades = max(values) / min(values) < 1e4
        axis.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if few_decades else (1,), numticks=20))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_ylim(min(values) / 1.3, max(values) * 1.4)
    elif values:
        axis.set_ylim(0, 1.12 * max(values))


def grid_of(pyplot, panels, columns=3, width=2.6, height=2.2, **arguments):
    """A figure of `panels` axes, `columns` in a row; the axes that are not needed are taken away."""
    columns = 2 if panels == 4 and columns == 3 else min(columns, panels)
    rows = -(-panels // columns)
    figure, axes = pyplot.subplots(
        rows,
        columns,
        figsize=(max(width * columns + 0.5, 4.2), height * rows + 0.7),
        squeeze=False,
        **arguments,
    )
    axes = list(axes.flat)
    for axis in axes[panels:]:
        axis.remove()
    return figure, axes[:panels]


def legend_of(axes):
    """Handles and texts of all series of several panels, each once."""
    known = {}
    for axis in axes:
        for handle, text in zip(*axis.get_legend_handles_labels()):
            known.setdefault(text, handle)
    return list(known.values()), list(known)


def arrange(figure, title="", handles=(), texts=()):
    """Finishes a figure with several panels: its title above them, the legend below, never over data."""
    share, height = 0, figure.get_size_inches()[1]
    if title:
        figure.suptitle(title, fontsize=10, y=1 - 0.05 / height, verticalalignment="top")
    if texts:
        width = figure.get_size_inches()[0]
        longest = max(len(text) for text in texts)
        columns = max(1, min(len(texts), int(width / (0.062 * longest + 0.45))))
        rows = -(-len(texts) // columns)
        share = (0.18 * rows + 0.06) / height
        figure.legend(handles, texts, loc="lower center", ncol=columns, bbox_to_anchor=(0.5, 0), handlelength=2.4)
    figure.tight_layout(rect=(0, share, 1, 1 - (0.22 / height if title else 0)), pad=0.6)


def figure_paths(path):
    """The PNG and the PDF that belong to a name with the ending of either, or with none."""
    stem, ending = os.path.splitext(path)
    if ending.lower() not in (".png", ".pdf", ""):
        raise ResultError(f"{path}: unknown kind of figure '{ending}'; allowed: .png or .pdf (both are written)")
    return [stem + ".png", stem + ".pdf"]


def save_figure(figure, path, dpi=None, made_by=""):
    """Writes the figure as PNG and PDF, and closes it. Returns their paths. `made_by`: what made the results, for the
    files' metadata (frame.made_by_text)."""
    from matplotlib import pyplot

    paths = figure_paths(path)
    for target in paths:
        # No date: the same results give the same bytes.
        pdf = target.endswith(".pdf")
        metadata = {"CreationDate": None} if pdf else {"Software": None}
        if made_by:
            metadata["Subject" if pdf else "Description"] = made_by
        with whole_file(target) as temporary:
            figure.savefig(temporary, format=target[-3:], metadata=metadata, dpi=dpi or pyplot.rcParams["savefig.dpi"])
    pyplot.close(figure)
    return paths
