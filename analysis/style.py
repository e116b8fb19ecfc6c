# SPDX-License-Identifier: Apache-2.0
"""The common look of all figures: readable in print, without colour, and by colour-blind readers; atomic output
files."""

import os
import textwrap

from analysis.errors import ResultError
from analysis.files import whole_file

# Okabe and Ito, "Color Universal Design" (2008), darkest first; yellow is left out, it fades on paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# Markers and hatches distinguish series and bars without colour.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "////", "....", "\\\\\\\\", "xx", "++", "oo")
GREY = "#666666"


# Width of figures in inches if the user set one (set_width); otherwise each figure has its own.
_asked_width = None
# A narrower figure stands in a column of a paper and has smaller type.
NARROW_INCHES = 4.5


def set_width(inches):
    """Sets the width of all figures drawn from now on; None: each figure's own width."""
    global _asked_width
    _asked_width = inches


def is_narrow():
    return _asked_width is not None and _asked_width < NARROW_INCHES


def figure_size(width, height):
    """Returns the size of a figure under set_width(): the requested width and a proportional height that leaves room
    for axes."""
    if _asked_width is None:
        return width, height
    return _asked_width, height * min(1.0, max(_asked_width / width, 0.7))


def axis_label(text):
    """Puts text in parentheses on a line of its own in a narrow figure, where the axis is too short for both."""
    return text.replace(" (", "\n(") if is_narrow() else text


def columns_of(columns, width=2.0):
    """Returns how many of the panels fit side by side into the requested width."""
    return columns if _asked_width is None else max(1, min(columns, int(_asked_width / width)))


def load_pyplot():
    """Returns matplotlib.pyplot, set up to draw into files."""
    try:
        import matplotlib
    except ImportError as error:
        raise ResultError("cannot import matplotlib; install python3-matplotlib and use /usr/bin/python3") from error
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "font.size": 7.5 if is_narrow() else 9,
            "axes.titlesize": 8 if is_narrow() else 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#dddddd",
            "grid.linewidth": 0.6,
            "lines.linewidth": 1.4,
            "lines.markersize": 5,
            "legend.frameon": False,
            "legend.fontsize": 7 if is_narrow() else 8,
            "hatch.linewidth": 0.6,
            "savefig.dpi": 200,
            # Text is stored as text, so that a paper's figure can be searched.
            "pdf.fonttype": 42,
        }
    )
    take_dollars_as_they_are(matplotlib)
    from matplotlib import pyplot

    return pyplot


def take_dollars_as_they_are(matplotlib):
    """Prevents dollar signs in names from beginning a formula."""
    if "text.parse_math" in matplotlib.rcParams:
        matplotlib.rcParams["text.parse_math"] = False
        return
    from matplotlib.text import Text  # before 3.6

    Text._preprocess_math = lambda _, text: (text, False)


def look(number):
    """Returns colour and marker of series `number`: 49 different pairs."""
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
    """Marks oversubscription factors on a logarithmic x axis, with numbers where there is room."""
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
    """Sets a logarithmic y axis with plain numbers if the values span more than `threshold`, otherwise one from 0."""
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
    """Returns a figure of `panels` axes, `columns` in a row; unused axes are removed."""
    columns = columns_of(2 if panels == 4 and columns == 3 else min(columns, panels))
    rows = -(-panels // columns)
    figure, axes = pyplot.subplots(
        rows,
        columns,
        figsize=(_asked_width or max(width * columns + 0.5, 4.2), height * rows + 0.7),
        squeeze=False,
        **arguments,
    )
    axes = list(axes.flat)
    for axis in axes[panels:]:
        axis.remove()
    return figure, axes[:panels]


def legend_of(axes):
    """Returns handles and texts of all series of several panels, each once."""
    known = {}
    for axis in axes:
        for handle, text in zip(*axis.get_legend_handles_labels()):
            known.setdefault(text, handle)
    return list(known.values()), list(known)


def title_panel(axis, text, size=None, **keywords):
    """Sets a title with as many lines as the panel's width requires, so that titles do not overlap."""
    from matplotlib import pyplot
    from matplotlib.font_manager import FontProperties

    points = FontProperties(size=size or pyplot.rcParams["axes.titlesize"]).get_size_in_points()
    inches = axis.figure.get_size_inches()[0] / axis.get_subplotspec().get_gridspec().ncols - 0.3
    characters = max(12, int(inches / (0.0076 * points)))
    lines = textwrap.wrap(text, characters, break_on_hyphens=False) or [""]
    axis.set_title("\n".join(lines), fontsize=size, **keywords)


def require_few(number, what):
    """Raises ResultError for more than the number of distinguishable looks."""
    most = len(COLOURS) * len(MARKERS)
    if number > most:
        raise ResultError(f"{number} {what} cannot be told apart in one figure; allowed: {most}; draw fewer results at a time")


def arrange(figure, title="", handles=(), texts=()):
    """Finishes a figure with several panels: its title above them, the legend below, never over data."""
    width, height = figure.get_size_inches()
    above = below = 0
    if title:
        lines = textwrap.wrap(title, int(width / (0.055 if is_narrow() else 0.07)), break_on_hyphens=False)
        above = 0.06 + 0.16 * len(lines)
    if texts:
        longest = max(len(text) for text in texts)
        columns = max(1, min(len(texts), int(width / ((0.054 if is_narrow() else 0.062) * longest + 0.45))))
        rows = -(-len(texts) // columns)
        below = 0.18 * rows + 0.06
    # A long legend or title makes the figure higher instead of shrinking its panels.
    height += max(0, below - 0.6) + max(0, above - 0.22)
    figure.set_size_inches(width, height)
    if title:
        figure.suptitle("\n".join(lines), fontsize=8 if is_narrow() else 10, y=1 - 0.05 / height, verticalalignment="top")
    if texts:
        figure.legend(handles, texts, loc="lower center", ncol=columns, bbox_to_anchor=(0.5, 0), handlelength=2.4)
    for _ in range(2):  # ticks may move with the size of the axes, and their labels with them
        figure.tight_layout(rect=(0, below / height, 1, 1 - above / height), pad=0.6)


def figure_paths(path):
    """Returns the names of the PNG and the PDF for a name with either ending, or with none."""
    stem, ending = os.path.splitext(path)
    if ending.lower() not in (".png", ".pdf", ""):
        raise ResultError(f"{path}: unknown kind of figure '{ending}'; allowed: .png or .pdf (both are written)")
    return [stem + ".png", stem + ".pdf"]


def save_figure(figure, path, dpi=None, made_by=""):
    """Writes the figure as PNG and PDF, and closes it. Returns their paths. `made_by` names the origin of the results,
    for the files' metadata (frame.made_by_text)."""
    from matplotlib import pyplot

    paths = figure_paths(path)
    for target in paths:
        # There is no date: the same results give the same bytes.
        pdf = target.endswith(".pdf")
        metadata = {"CreationDate": None} if pdf else {"Software": None}
        if made_by:
            metadata["Subject" if pdf else "Description"] = made_by
        with whole_file(target) as temporary:
            figure.savefig(temporary, format=target[-3:], metadata=metadata, dpi=dpi or pyplot.rcParams["savefig.dpi"])
    pyplot.close(figure)
    return paths
