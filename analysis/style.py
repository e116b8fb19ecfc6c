"""One look for all figures: readable in print, without colour, and by colour-blind readers; atomic output files."""

import os

from analysis.results import ResultError

# Okabe and Ito, "Color Universal Design" (2008), darkest first; yellow is left out, it fades on paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# A series is told apart by its marker alone.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


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
            "grid.color": "#dddddd",
            "grid.linewidth": 0.6,
            "lines.linewidth": 1.4,
            "lines.markersize": 5,
            "legend.frameon": False,
            "legend.fontsize": 8,
            "savefig.dpi": 200,
            # Text stays text, so that a paper's figure can be searched.
            "pdf.fonttype": 42,
        }
    )
    from matplotlib import pyplot

    return pyplot


def figure_paths(path):
    """The PNG and the PDF that belong to a name with the ending of either, or with none."""
    stem, ending = os.path.splitext(path)
    if ending.lower() not in (".png", ".pdf", ""):
        raise ResultError(f"{path}: unknown kind of figure '{ending}'; allowed: .png or .pdf (both are written)")
    return [stem + ".png", stem + ".pdf"]


def save_figure(figure, path):
    """Writes PNG and PDF beside their names, then renames: never half a figure. Returns their paths."""
    paths = figure_paths(path)
    for target in paths:
        temporary = f"{target}.tmp-{os.getpid()}"
        # No date: the same results give the same bytes.
        metadata = {"CreationDate": None} if target.endswith(".pdf") else {"Software": None}
        try:
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            figure.savefig(temporary, format=target[-3:], metadata=metadata)
            os.replace(temporary, target)
        except OSError as error:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise ResultError(f"cannot write {target}: {error.strerror}") from error
    return paths
