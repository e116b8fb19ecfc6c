# SPDX-License-Identifier: Apache-2.0
"""Tables sharded over several GPUs, as Markdown: one line per study.

    python3 -m analysis.recommend_sharding STUDY...      STUDY: a file of `uvmsim recommend --gpus N --json`

The time of a step under each placement; faults and bytes over the host's links under the last one. Bytes are MiB of one
step and of all GPUs together; memory is of the GPU that has most. "max/mean" compares the GPU that has most with the
mean: bytes of tables and state, lookups. All studies have the same placements.
"""

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.plot_recommend import read_study

MIB, GIB = 1 << 20, 1 << 30
BEFORE = ("GPUs", "sharding", "optimizer", "tables (GiB)", "state (GiB)", "most on a GPU (GiB)", "OSF")
AFTER = ("faults", "HtoD", "DtoH", "pooled rows and gradients", "dense gradients", "bytes max/mean", "lookups max/mean")


def shares_of(study):
    """Returns bytes of tables, of state, and of both on each GPU, over all GPUs."""
    tables = [share["table_bytes"] for share in study["shares"]]
    state = [share["state_bytes"] for share in study["shares"]]
    return sum(tables), sum(state), [a + b for a, b in zip(tables, state, strict=True)]


def placements_of(study):
    return [result["placement"] for result in study["placements"]]


def traffic_of(result):
    """Returns the columns that depend on the placement, and those of traffic between GPUs."""
    if result["refused"]:
        return ["–"] * (len(AFTER) - 2)

    def per_step(*keys):
        return sum(result[key] for key in keys) / result["steps"]

    return [
        f"{per_step('faulting_pages'):,.0f}",
        f"{per_step('host_to_device_bytes') / MIB:,.0f}",
        f"{per_step('device_to_host_bytes') / MIB:,.0f}",
        f"{per_step('pooled_rows_sent_bytes', 'row_gradients_sent_bytes') / MIB:,.0f}",
        f"{per_step('dense_gradients_sent_bytes') / MIB:,.1f}",
    ]


def row_of(study):
    tables, state, both = shares_of(study)
    results = study["placements"]
    return [
        *(str(study[key]) for key in ("gpus", "sharding", "optimizer")),
        *(f"{amount / GIB:.1f}" for amount in (tables, state, max(both))),
        f"{max(both) / study['gpu_bytes']:.2f}",
        *("–" if result["refused"] else f"{result['step_ns'] / 1e6:.2f}" for result in results),
        *traffic_of(results[-1]),
        f"{max(both) * len(both) / sum(both):.2f}",
        "–" if results[-1]["refused"] else f"{results[-1]['lookup_imbalance_thousandths'] / 1000:.2f}",
    ]


def table_lines(studies):
    placements = placements_of(studies[0])
    columns = [*BEFORE, *(f"{placement} (ms)" for placement in placements), *AFTER]
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for study in studies:
        if placements_of(study) != placements:
            raise ResultError(f"placements {placements_of(study)}; allowed: those of the first study, {placements}")
        yield "| " + " | ".join(row_of(study)) + " |"


def main(arguments=None):
    parser = parser_of("recommend_sharding", __doc__)
    parser.add_argument("studies", nargs="+", metavar="STUDY", help="a file of `uvmsim recommend --gpus N --json`")
    given = parser.parse_args(arguments)

    def work():
        studies = [read_study(path) for path in given.studies]
        try:
            print("\n".join(list(table_lines(studies))))
        except (KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            raise ResultError(f"{', '.join(given.studies)}: no whole study of uvmsim: {error!r}") from error

    return run("recommend_sharding", work)


if __name__ == "__main__":
    import sys

    sys.exit(main())
