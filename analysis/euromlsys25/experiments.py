# SPDX-License-Identifier: Apache-2.0
"""What the share of read faults (E17) and the bend of Whisper's curve (E7) depend on: numbers behind explanations.py.

    python3 -m analysis.euromlsys25.experiments RESULTS [MORE RESULTS] [--profiles FOLDER]

RESULTS: the paper's sweep (configs/sweeps/euromlsys25.json), that of its experiments (euromlsys25_experiments.json), or
both. All numbers are with PCA, by reading (a) of memory, and judge nothing. Printed are, by eviction policy:
- the share of read faults by factor, if the first iteration, the first five or all count, and of the settled one; one
  fault is a batch, as in E17;
- the same of pages that fault, from profiles of such runs (`uvmsim run --profile FOLDER/ANY.profile`);
- how much steeper Whisper's slowdown rises beyond 6, and where it bends, if the curve begins at a later factor;
- from profiles, how long the kernels of Whisper's encoder and all others wait, in the last iteration.
"""

import os
import sys

import pandas

from analysis.command import add_results, parser_of, run
from analysis.errors import ResultError
from analysis.euromlsys25.kernels import ENDING
from analysis.euromlsys25.paper import MODELS, MODES, PCA
from analysis.euromlsys25.rules import RANK, WHISPER_KNEE, knee, rank_correlation, slopes_around
from analysis.frame import iterations, osf_of, settled
from analysis.profiles import Profile
from analysis.results import load
from analysis.tables import Table, print_tables

(LAYOUT,) = [layout for layout, mode in MODES.items() if mode == PCA]
KEYS = ["evict", "program", "osf"]
WINDOWS = {"first iteration": 1, "first five": 5, "all": None}
# The encoder's layers in the recording of Whisper.
ENCODER = "Encoder"


def chosen(frame):
    """Returns the rows of the six programs with PCA by reading (a); the factor 0 stands for no limit."""
    known = (frame["status"] == "ok") & frame["program"].isin(list(MODELS)) & (frame["layout name"] == LAYOUT)
    frame = frame[known & ~frame["beside"].fillna(False).astype(bool) & (frame["limit"] != "capacity")]
    if frame.empty:
        raise ResultError(f"no results of the paper's models with PCA; allowed: {', '.join(MODELS)} under {LAYOUT}")
    frame = frame.assign(osf=frame["osf"].where(frame["limit"] != "none", 0.0))
    # A run may be in several of the sweeps.
    return frame.drop_duplicates([*KEYS, "scope", "iteration"])


def as_faults(rows):
    return rows.assign(reads=rows["read_fault_batches"], writes=rows["write_fault_batches"])


class ProfileData:
    """What a profile tells: `pages`, one row per iteration; `waits`, one row for Whisper's encoder and one for the rest."""

    def __init__(self, path):
        with Profile(path) as profile:
            result = profile.result
            if profile.program not in MODELS or result["layout"] != LAYOUT:
                raise ResultError(f"{path}: {profile.title()}; allowed: {', '.join(MODELS)} under {LAYOUT}")
            same = {"evict": result["policies"]["evict"]["name"], "program": profile.program, "osf": osf_of(result)}
            self.pages = profile.query(
                "SELECT iteration, SUM(read_faulting_pages) AS reads, SUM(write_faulting_pages) AS writes"
                " FROM operations WHERE iteration IS NOT NULL GROUP BY iteration"
            ).assign(**same)
            waits = profile.query(
                "SELECT path, SUM(stall_ns) AS stall_ns, SUM(reloaded_pages) AS reloaded_pages"
                " FROM operations LEFT JOIN layers USING (layer) WHERE kind = 'kernel'"
                " AND iteration = (SELECT MAX(iteration) FROM operations) GROUP BY path"
            )
            within = waits.pop("path").fillna("").str.startswith(ENCODER)
            self.waits = waits.groupby(within.rename("encoder")).sum().reset_index().assign(**same)


def load_profiles(folder):
    """Returns (pages, waits) of all profiles in the folder."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(ENDING)) if os.path.isdir(folder) else []
    if not names:
        raise ResultError(f"no profiles in {folder}; allowed: a folder with files *{ENDING}")
    data = [ProfileData(os.path.join(folder, name)) for name in names]
    return tuple(pandas.concat([getattr(one, part) for one in data], ignore_index=True) for part in ("pages", "waits"))


def shares_of(rows):
    """Returns the share of reads: evictions and models (rows) by factors."""
    sums = rows[rows["osf"] > 0].groupby(KEYS, sort=False)[["reads", "writes"]].sum()
    return (sums["reads"] / (sums["reads"] + sums["writes"])).unstack("osf").sort_index(axis=1)


def share_tables(what, named_rows):
    """Returns one table per eviction; `named_rows` are pairs of a text and the rows that it stands for."""
    known = [(name, shares_of(rows)) for name, rows in named_rows]
    factors = sorted({factor for _, shares in known for factor in shares.columns})
    tables = []
    for evict in dict.fromkeys(key[0] for _, shares in known for key in shares.index):
        headings = ["iterations", "program", *(f"{factor:g}" for factor in factors), "rank"]
        table = Table(f"Share of read faults by factor (%), {what}, eviction {evict}", headings, texts=2)
        for name, shares in known:
            shares = shares.xs(evict, level="evict").reindex([m for m in MODELS if (evict, m) in shares.index])
            grown = []
            for model, curve in [*shares.iterrows(), ("", shares.mean(skipna=False))]:
                curve = curve.reindex(factors)
                rank = rank_correlation(curve)
                if model and not pandas.isna(rank):
                    grown.append(rank >= RANK and curve.dropna().iloc[-1] > curve.dropna().iloc[0])
                cells = ["" if pandas.isna(value) else f"{100 * value:.1f}" for value in curve]
                table.add(name, MODELS.get(model, "mean"), *cells, "" if pandas.isna(rank) else f"{rank:.2f}")
            table.add(name, "grow", *[""] * len(factors), f"{sum(grown)} of {len(grown)}")
        tables.append(table)
    return tables


def windows_of(rows):
    return [(name, rows if end is None else rows[rows["iteration"] < end]) for name, end in WINDOWS.items()]


def bend_table(frame):
    """Returns Whisper's slowdown, judged as E7 does, from each factor on."""
    rows = iterations(frame[frame["program"] == "whisper"])
    table = Table("Whisper's slowdown", ["eviction", "from", "beyond 6 / up to 6", "bends at"], texts=1)
    for evict, times in rows.groupby(["evict", "osf"])["duration_ns"].sum().groupby(level="evict"):
        times = times.droplevel("evict")
        if 0.0 not in times:
            continue
        curve = (times / times[0.0])[times.index >= 1]
        for start in curve.index[curve.index < WHISPER_KNEE]:
            part = curve[curve.index >= start]
            if len(part) >= 4 and part.index.max() > WHISPER_KNEE:
                before, beyond = slopes_around(part, WHISPER_KNEE)
                bend = knee(part)
                table.add(evict, f"{start:g}", f"{beyond / before:.2f}", "-" if bend is None else f"{bend:g}")
    return table


def wait_table(waits):
    headings = ["eviction", "factor", ("encoder", "ms"), ("others", "ms"), ("to the encoder again", "GiB")]
    table = Table("Waits of Whisper's kernels, last iteration", headings, texts=1)
    for (evict, factor), rows in waits[waits["program"] == "whisper"].groupby(["evict", "osf"]):
        rows = rows.set_index("encoder")[["stall_ns", "reloaded_pages"]].reindex([True, False]).fillna(0)
        milliseconds = [f"{value / 1e6:.0f}" for value in rows["stall_ns"]]
        table.add(evict, f"{factor:g}", *milliseconds, f"{rows['reloaded_pages'].iloc[0] / (1 << 18):.1f}")
    return table


def main(arguments=None):
    parser = parser_of("euromlsys25.experiments", __doc__)
    add_results(parser)
    parser.add_argument("--profiles", metavar="FOLDER", help="profiles of runs at some factors, with PCA")
    given = parser.parse_args(arguments)

    def work():
        frame = chosen(load(given.results, given.partial))
        batches = [*windows_of(as_faults(iterations(frame))), ("settled", as_faults(settled(frame)))]
        tables = share_tables("batches", batches)
        if given.profiles:
            pages, waits = load_profiles(given.profiles)
            tables += share_tables("pages", windows_of(pages))
        tables.append(bend_table(frame))
        if given.profiles:
            tables.append(wait_table(waits))
        print_tables("with PCA, memory that is free before the program loads (reading a)", tables)

    return run("euromlsys25.experiments", work)


if __name__ == "__main__":
    sys.exit(main())
