# SPDX-License-Identifier: Apache-2.0
"""Draws figures 1 to 9 of the paper, each from the same tables that the claims read."""

import os

from analysis.euromlsys25 import figures_memory, figures_time
from analysis.euromlsys25.paper import MissingData
from analysis.style import load_pyplot, save_figure

FIGURES = {
    "fig1": figures_time.batch_sizes,
    "fig2": figures_time.fault_handling,
    "fig3": figures_time.slowdowns,
    "fig4": figures_time.mode_ratios,
    "fig5": figures_memory.kernel_sets,
    "fig6": figures_memory.faults,
    "fig7": figures_memory.read_and_write,
    "fig8": figures_memory.migrations,
    "fig9": figures_memory.migrated_bytes,
}


def draw_all(paper, kernels, folder, dpi=None):
    """Draws the figures for which the results have data. Returns (paths written, [(figure, missing data)])."""
    pyplot = load_pyplot()
    written, skipped = [], []
    for name, draw in FIGURES.items():
        try:
            figure = draw(pyplot, paper, kernels)
        except MissingData as missing:
            pyplot.close("all")
            skipped.append((name, str(missing)))
            continue
        written += save_figure(figure, os.path.join(folder, name + ".png"), dpi, paper.made_by)
    return written, skipped
