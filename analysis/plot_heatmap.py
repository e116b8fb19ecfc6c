# SPDX-License-Identifier: Apache-2.0
"""What was where when: residency, reuse, faults and traffic over time and addresses, from a profile.

    uvmsim run gpt2.uvmt --system a100-pcie-80g --osf 2 --profile gpt2.profile
    python3 -m analysis.plot_heatmap gpt2.profile -o gpt2_heat.png
    python3 -m analysis.plot_heatmap gpt2.profile -o gpt2_heat.png --show residency,faults --iteration last

Time runs to the right, addresses upwards. `residency` is the part of the memory that is in the GPU; `reuse` how often
kernels touch it within a time bucket; `faults`, `loads` and `evictions` are bytes. White cells hold nothing.
"""

import numbers
import sys

import numpy

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.profiles import Profile
from analysis.style import load_pyplot, save_figure

# The maps: column, title, label of the scale, divisor ("cell": the bytes of a cell), logarithmic.
MAPS = {
    "residency": ("resident_bytes", "residency", "part resident (%)", "percent", False),
    "reuse": ("touched_bytes", "reuse", "touches per byte", "cell", True),
    "faults": ("faulted_bytes", "faults", "faulting pages (MB)", "mega", True),
    "loads": ("loaded_bytes", "host to GPU", "moved (MB)", "mega", True),
    "evictions": ("evicted_bytes", "evictions", "evicted (MB)", "mega", True),
}


def time_range(profile, iterations):
    """Returns (first, last) time in ns of the chosen iterations; None for the whole run."""
    if iterations is None:
        return None
    marks = ", ".join(map(str, iterations))
    row = profile.query(
        "SELECT MIN(start_ns) AS first, MAX(start_ns + duration_ns) AS last FROM operations"
        f" WHERE iteration IN ({marks})"
    ).iloc[0]
    return float(row["first"]), float(row["last"])


def iteration_starts(profile):
    rows = profile.query(
        "SELECT iteration, MIN(start_ns) AS first FROM operations WHERE iteration IS NOT NULL AND start_ns IS NOT NULL"
        " GROUP BY iteration ORDER BY iteration"
    )
    return list(rows.itertuples(index=False, name=None))


def grid_of(profile, device):
    grids = profile.query("SELECT * FROM heat_grid ORDER BY device")
    if grids.empty:
        raise ResultError(f"{profile.path}: holds no heat map: the run touched no managed memory")
    chosen = grids[grids["device"] == device]
    if chosen.empty:
        raise ResultError(f"--device: no GPU {device}; allowed: {', '.join(map(str, grids['device']))}")
    grid = chosen.iloc[0]
    for name, most in (("time_buckets", 4096), ("address_buckets", 4096), ("bucket_bytes", 1 << 57), ("bucket_ns", 1 << 62)):
        if not isinstance(grid[name], numbers.Real) or not 1 <= grid[name] <= most:
            raise ResultError(f"{profile.path}: heat_grid: {name} is {str(grid[name])[:40]!r}; allowed: 1 to {most}")
    return grid


def matrix_of(profile, grid, name):
    """Returns addresses (rows) by times (columns); NaN for empty cells."""
    column, _, _, unit, _ = MAPS[name]
    cells = profile.query(
        f"SELECT time_bucket, address_bucket, {column} AS value FROM heat WHERE device = ?", [int(grid["device"])]
    )
    matrix = numpy.full((int(grid["address_buckets"]), int(grid["time_buckets"])), numpy.nan)
    divisor = {"percent": grid["bucket_bytes"] / 100, "cell": grid["bucket_bytes"], "mega": 1e6}[unit]
    some = cells[cells["value"] > 0]
    inside = (some["address_bucket"] < matrix.shape[0]) & (some["time_bucket"] < matrix.shape[1])
    some = some[inside]
    matrix[some["address_bucket"].to_numpy(int), some["time_bucket"].to_numpy(int)] = some["value"] / float(divisor)
    return matrix


def draw(profile, shown, iterations, device, path):
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import NullFormatter

    pyplot = load_pyplot()
    grid = grid_of(profile, device)
    figure, axes = pyplot.subplots(
        len(shown), 1, figsize=(6.8, 2.35 * len(shown) + 0.5), sharex=True, squeeze=False, constrained_layout=True
    )
    window = time_range(profile, iterations) or (0.0, float(grid["end_ns"]))
    unit, divisor = ("s", 1e9) if window[1] - window[0] >= 2e9 else ("ms", 1e6)
    span = float(grid["bucket_bytes"] * grid["address_buckets"])
    size, bytes_in = ("GiB", 1 << 30) if span >= 1 << 30 else ("MiB", 1 << 20)
    extent = (
        0,
        float(grid["bucket_ns"] * grid["time_buckets"]) / divisor,
        0,
        span / bytes_in,
    )
    starts = iteration_starts(profile)
    for axis, name in zip(axes[:, 0], shown):
        _, title, label, scale, logarithmic = MAPS[name]
        matrix = matrix_of(profile, grid, name)
        known = matrix[~numpy.isnan(matrix)]
        if scale == "percent":
            norm = Normalize(0, 100)
        elif logarithmic and known.size and known.max() > known.min() * 10:
            norm = LogNorm(max(known.min(), known.max() / 1e4), known.max())
        else:
            norm = Normalize(0, known.max() if known.size else 1)
        # Cividis looks the same to colour-blind readers, and runs from dark to light in print.
        image = axis.imshow(
            matrix, origin="lower", aspect="auto", interpolation="nearest", extent=extent, cmap="cividis_r", norm=norm
        )
        axis.grid(False)
        for iteration, first in starts:
            axis.axvline(first / divisor, color="#D55E00", linewidth=0.7, linestyle=":")
            if axis is axes[0, 0] and window[0] <= first <= window[1] and len(starts) <= 12:
                axis.annotate(
                    f"{iteration}",
                    (first / divisor, 1),
                    (2, 1),
                    xycoords=("data", "axes fraction"),
                    textcoords="offset points",
                    fontsize=7,
                    color="#D55E00",
                )
        axis.set_xlim(window[0] / divisor, window[1] / divisor)
        axis.set_ylabel(f"{title}\naddress ({size})")
        bar = figure.colorbar(image, ax=axis, label=label, pad=0.015, aspect=14, format="%g")
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
    axes[-1, 0].set_xlabel(f"time ({unit}; dotted: iterations begin)" if starts else f"time ({unit})")
    figure.suptitle(profile.title(), fontsize=10)
    return save_figure(figure, path)


def main(arguments=None):
    parser = parser_of("plot_heatmap", __doc__)
    parser.add_argument("profile", metavar="PROFILE", help="a file of `uvmsim run --profile`")
    parser.add_argument("-o", "--figure", required=True, metavar="FIGURE", help="write FIGURE.png and FIGURE.pdf")
    parser.add_argument("--show", default="residency,reuse", metavar="A[,B...]", help=f"of {', '.join(MAPS)}")
    parser.add_argument("--iteration", default="all", metavar="N", help="a number, last, or all (default)")
    parser.add_argument("--device", type=int, default=0, metavar="N", help="the GPU, default 0")
    given = parser.parse_args(arguments)

    def work():
        shown = given.show.split(",")
        for name in shown:
            if name not in MAPS:
                raise ResultError(f"--show: '{name}'; allowed: {', '.join(MAPS)}")
        with Profile(given.profile) as profile:
            iterations = profile.chosen_iterations(given.iteration)
            for path in draw(profile, shown, iterations, given.device, given.figure):
                print(f"figure: {path}")

    return run("plot_heatmap", work)


if __name__ == "__main__":
    sys.exit(main())
