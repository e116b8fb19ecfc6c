# SPDX-License-Identifier: Apache-2.0
"""Where a run lost its time: faults, stalls and traffic per kernel, layer or tensor, from a profile.

    uvmsim run gpt2.uvmt --system a100-pcie-80g --osf 2 --profile gpt2.profile
    python3 -m analysis.profile_tables gpt2.profile                     kernels by name, the longest stalls first
    python3 -m analysis.profile_tables gpt2.profile --by layer --top 0  every layer
    python3 -m analysis.profile_tables gpt2.profile --by tensor --csv tensors.csv

| --by | rows |
|---|---|
| kernel | kernels of one name |
| layer | kernels launched within a layer (--nested: and within the layers inside) |
| owner | memory by the layer that allocated it: also what backward kernels cost, which run outside of all layers |
| tensor | tensors and other allocations, one by one |

A stall is what a kernel takes longer than with everything resident; a tensor's stall is its share, by faulting pages,
of those of the kernels that fault on it. The table on the screen is cut at --top rows; the CSV file is whole.
"""

import sys

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.files import write_text
from analysis.plain_text import csv_frame
from analysis.profiles import DTOH, FAULTS, HTOD, Profile, with_traffic

TRAFFIC = FAULTS + ["reloaded_pages", "populated_pages", "evicted_bytes", "fault_service_ns"] + HTOD + DTOH
# Columns of the table, and the sum that each shows: title, divisor, digits.
SHOWN = {
    "launches": ("launches", 1, 0),
    "kernels": ("kernels", 1, 0),
    "duration_ns": ("time ms", 1e6, 2),
    "stall_ns": ("stall ms", 1e6, 2),
    "fault_batches": ("batches", 1, 0),
    "faulting_pages": ("fault pages", 1, 0),
    "reloaded_pages": ("came back", 1, 0),
    "to_gpu_bytes": ("to GPU MB", 1e6, 1),
    "to_host_bytes": ("to host MB", 1e6, 1),
    "evictions": ("evictions", 1, 0),
    "largest_set_bytes": ("largest set MB", 1e6, 1),
    "bytes": ("size MB", 1e6, 2),
    "touched_bytes": ("touched MB", 1e6, 1),
}


def condition(iterations, column="iteration"):
    """Returns an SQL condition for the chosen iterations (None: all)."""
    return "1" if iterations is None else f"{column} IN ({', '.join(map(str, iterations))})"


def sums(names, prefix=""):
    return ", ".join(f"SUM({prefix}{name}) AS {name}" for name in names)


def kernels(profile, iterations):
    text = f"""
        SELECT name, COUNT(*) AS launches, {sums(["duration_ns", "compute_ns", "stall_ns"])},
               {sums(["fault_batches", "evictions"] + TRAFFIC)}, MAX(working_set_bytes) AS largest_set_bytes
        FROM operations JOIN names USING (name_id)
        WHERE kind = 'kernel' AND {condition(iterations)} GROUP BY name"""
    return profile.query(text), ["name"]


def layers(profile, iterations, nested):
    text = f"""
        SELECT layers.layer AS number, CASE WHEN layers.layer = 0 THEN '(outside of all layers)' ELSE path END AS layer,
               {sums(["kernels", "duration_ns", "compute_ns", "stall_ns", "fault_batches", "evictions"] + TRAFFIC)}
        FROM layer_sums JOIN layers USING (layer)
        WHERE nested = {int(nested)} AND {condition(iterations)} GROUP BY number"""
    frame = profile.query(text)
    if nested:
        frame.loc[frame["number"] == 0, "layer"] = "(everything)"
    return frame.drop(columns="number"), ["layer"]


def owners(profile, iterations):
    text = f"""
        SELECT CASE WHEN layers.layer = 0 THEN '(outside of all layers)' ELSE path END AS layer, lifetime,
               COUNT(DISTINCT allocation) AS allocations,
               {sums(["stall_ns", "fault_batches", "touched_bytes"] + TRAFFIC, "u.")}
        FROM allocation_uses AS u JOIN allocations USING (allocation) JOIN layers USING (layer)
        WHERE {condition(iterations, "u.iteration")} GROUP BY layers.layer, lifetime"""
    return profile.query(text), ["layer", "lifetime"]


def tensors(profile, iterations):
    text = f"""
        SELECT allocation, kind, allocations.name AS name, lifetime, path AS layer, bytes,
               {sums(["stall_ns", "fault_batches", "touched_bytes"] + TRAFFIC, "u.")}
        FROM allocation_uses AS u JOIN allocations USING (allocation) LEFT JOIN layers USING (layer)
        WHERE {condition(iterations, "u.iteration")} GROUP BY allocation"""
    return profile.query(text), ["allocation", "kind", "lifetime", "layer"]


TABLES = {
    "kernel": kernels,
    "layer": lambda profile, iterations: layers(profile, iterations, False),
    "owner": owners,
    "tensor": tensors,
}


def table_of(profile, by, iterations, nested=False):
    """Returns the whole table, the longest stalls first, and the columns that name its rows."""
    if nested and by != "layer":
        raise ResultError("--nested: only with --by layer")
    frame, names = layers(profile, iterations, True) if nested else TABLES[by](profile, iterations)
    frame = with_traffic(frame).fillna({name: "" for name in names})
    order = ["stall_ns", "to_gpu_bytes", names[0]]
    return frame.sort_values(order, ascending=[False, False, True], kind="stable").reset_index(drop=True), names


def shorten(text, width):
    """Shortens a name: a path keeps its end, and a kernel's name its beginning."""
    if len(text) <= width:
        return text
    return "…" + text[1 - width :] if " / " in text else text[: width - 1] + "…"


def print_table(frame, names, top, width=56):
    rows = frame if top == 0 else frame.head(top)
    columns = [name for name in SHOWN if name in frame]
    headers = list(names) + [SHOWN[name][0] for name in columns]
    cells = []
    for _, row in rows.iterrows():
        texts = [shorten(str(row[name]), width) for name in names]
        texts += [f"{row[name] / SHOWN[name][1]:,.{SHOWN[name][2]}f}" for name in columns]
        cells.append(texts)
    widths = [max(len(line[place]) for line in [headers, *cells]) for place in range(len(headers))]
    for line in [headers, *cells]:
        left = [f"{text:{size}}" for text, size in zip(line[: len(names)], widths)]
        right = [f"{text:>{size}}" for text, size in zip(line[len(names) :], widths[len(names) :])]
        print("  ".join(left + right).rstrip())
    if len(rows) < len(frame):
        rest = frame.iloc[len(rows) :]
        print(f"... and {len(rest)} more with {rest['stall_ns'].sum() / 1e6:,.2f} ms of stalls")


def main(arguments=None):
    parser = parser_of("profile_tables", __doc__)
    parser.add_argument("profile", metavar="PROFILE", help="a file of `uvmsim run --profile`")
    parser.add_argument("--by", choices=sorted(TABLES), default="kernel", help="what a row is, default kernel")
    parser.add_argument("--nested", action="store_true", help="layers with all layers inside them")
    parser.add_argument("--iteration", default="last", metavar="N", help="a number, last (default) or all")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="rows to print, 0 for all; default 20")
    parser.add_argument("--csv", metavar="FILE", help="write the whole table")
    given = parser.parse_args(arguments)

    def work():
        if given.top < 0:
            raise ResultError(f"--top: {given.top}; allowed: 0 or more")
        with Profile(given.profile) as profile:
            iterations = profile.chosen_iterations(given.iteration)
            frame, names = table_of(profile, given.by, iterations, given.nested)
            which = "the whole run" if iterations is None else f"iteration {iterations[0]}"
            print(f"{profile.title()}; {which}, by {given.by}\n")
        print_table(frame, names, given.top)
        if given.csv:
            write_text(given.csv, csv_frame(frame).to_csv(index=False, lineterminator="\n"))

    return run("profile_tables", work)


if __name__ == "__main__":
    sys.exit(main())
