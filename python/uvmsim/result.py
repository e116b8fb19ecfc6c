# SPDX-License-Identifier: Apache-2.0
"""A result: the output of `uvmsim run --json` as a dict, a table, a line, or HTML for a notebook."""

import html
import io
import json

# The main columns; `frame(everything=True)` also has the other columns of `uvmsim run --csv`.
MAIN_COLUMNS = (
    "trace", "system", "layout", "prefetch", "evict", "seed", "osf", "scope", "iteration", "settled", "duration_ns",
    "fault_batches", "htod_bytes", "dtoh_bytes", "evictions",
)  # fmt: skip


def main_columns(table):
    """Returns the columns of MAIN_COLUMNS and all slowdowns of a table of results; htod_bytes and dtoh_bytes are summed
    over their causes."""
    table = table.copy()
    for direction in ("htod", "dtoh"):
        causes = [name for name in table if name.startswith(f"{direction}_") and name.endswith("_bytes")]
        table[f"{direction}_bytes"] = table[causes].sum(axis=1)
    slowdowns = [name for name in table if name.startswith("slowdown")]
    return table[[name for name in MAIN_COLUMNS if name in table] + slowdowns]


class Result(dict):
    """The object that `uvmsim run --json` writes (sim/report/README.md lists its keys)."""

    def __init__(self, ran):
        super().__init__(json.loads(ran.json))
        self.json, self.csv = ran.json, ran.csv  # as the command writes them

    def frame(self, everything=False):
        """Returns a pandas.DataFrame with a row per iteration and one for the whole run: the main columns, or with
        `everything` all columns of `uvmsim run --csv`."""
        import pandas

        table = pandas.read_csv(io.StringIO(self.csv))
        return table if everything else main_columns(table)

    def __repr__(self):
        """Example: <Result: gpt2.uvmt on h200-sxm-pcie5, tree, lrm, OSF 2: 12.345 ms per iteration, slowdown 1.500>"""
        return f"<Result: {_named(self)}, OSF {self['osf_thousandths'] / 1000:g}: {_numbers(self)}>"

    def _repr_html_(self):
        """Returns the HTML for notebooks: the main numbers, their scope, and the command that reproduces them."""
        return _html_of(self)


def _named(result):
    policies = ", ".join(used["name"] for used in result["policies"].values())
    return f"{result['trace']['file']} on {result['system']['name']}, {policies}"


def _slowdown(result):
    return result["slowdown_thousandths"] / 1000


def _numbers(result):
    settled = result["settled"]
    if settled is None:
        text = f"{result['total_ns'] / 1e6:,.3f} ms"
    else:
        text = f"{settled['duration_ns'] / 1e6:,.3f} ms per iteration" + ("" if settled["is_settled"] else " (not settled)")
    return text + (f", slowdown {_slowdown(result):,.3f}" if result["unlimited"] else "")


def _html_of(result):
    settled, counters = result["settled"], (result["settled"] or result)["counters"]

    def moved(direction):
        return sum(value for name, value in counters.items() if name.startswith(direction) and name.endswith("_bytes"))

    if settled is None:
        period, time_ns = "the whole run", result["total_ns"]
    else:
        first, last, time_ns = settled["first_index"], settled["index"], settled["duration_ns"]
        period = f"iteration {last}" if first == last else f"iterations {first} to {last}, mean"
        period += f", settled after {settled['learning_iterations']}" if settled["is_settled"] else ", not settled"
    osf, gib = result["osf_thousandths"] / 1000, 1 << 30
    rows = [
        ("time", f"{time_ns / 1e6:,.3f} ms"),
        ("GPU memory", f"{result['capacity_bytes'] / gib:,.3f} GiB for {result['footprint_bytes'] / gib:,.3f} GiB (OSF {osf:g})"),
        ("fault batches", f"{counters['fault_batches']:,}"),
        ("moved", f"{moved('htod_') / gib:,.3f} GiB to the GPU, {moved('dtoh_') / gib:,.3f} GiB to the host"),
        ("evictions", f"{counters['evictions']:,}"),
    ]  # fmt: skip
    if result["unlimited"]:
        room = " (hypothetical memory)" if result["unlimited"]["hypothetical"] else ""
        rows.insert(1, ("slowdown", f"{_slowdown(result):,.3f} against the driver's policies with room for all{room}"))
    if "bounds" in result:
        over = result["bounds"]["distance"]["over_bound_thousandths"] / 1000
        rows.append(("whole run", f"{over:,.3f} times the best lower bound"))
    title = f"{_named(result)}, layout {result['layout']}, seed {result['seed']}"
    cells = "".join(f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{html.escape(text)}</td></tr>" for name, text in rows)
    return (
        f"<table><caption style='text-align:left'><b>{html.escape(title)}</b><br>{html.escape(period)}</caption>"
        f"<tbody>{cells}</tbody></table><details><summary>again</summary><code>{html.escape(result['command'])}</code></details>"
    )
