"""Tables sharded over several GPUs, as Markdown: one line per study and placement.

    python3 -m analysis.recommend_sharding STUDY...      STUDY: a file of `uvmsim recommend --gpus N --json`

Bytes and faults are of one step and of all GPUs together; memory is of the GPU that has most. "max/mean" compares the
GPU that has most with the mean: bytes of tables and state, lookups.
"""

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.plot_recommend import read_study

MIB, GIB = 1 << 20, 1 << 30
COLUMNS = (
    "GPUs", "sharding", "optimizer", "placement", "tables (GiB)", "state (GiB)", "most on a GPU (GiB)", "OSF",
    "step (ms)", "faults", "HtoD (MiB)", "DtoH (MiB)", "pooled rows and gradients (MiB)", "dense gradients (MiB)",
    "bytes max/mean", "lookups max/mean",
)  # fmt: skip


def shares_of(study):
    """Of all GPUs: bytes of tables, of state, and of both on each."""
    tables = [share["table_bytes"] for share in study["shares"]]
    state = [share["state_bytes"] for share in study["shares"]]
    return sum(tables), sum(state), [a + b for a, b in zip(tables, state, strict=True)]


def row_of(study, result):
    tables, state, both = shares_of(study)
    head = [study["gpus"], study["sharding"], study["optimizer"], result["placement"], f"{tables / GIB:.1f}",
            f"{state / GIB:.1f}", f"{max(both) / GIB:.1f}", f"{max(both) / study['gpu_bytes']:.2f}"]  # fmt: skip
    if result["refused"]:
        return [*head, "–", *[""] * (len(COLUMNS) - len(head) - 1)]

    def per_step(*keys):
        return sum(result[key] for key in keys) / result["steps"]

    return [
        *head,
        f"{result['step_ns'] / 1e6:.2f}",
        f"{per_step('faulting_pages'):,.0f}",
        f"{per_step('host_to_device_bytes') / MIB:,.0f}",
        f"{per_step('device_to_host_bytes') / MIB:,.0f}",
        f"{per_step('pooled_rows_sent_bytes', 'row_gradients_sent_bytes') / MIB:,.0f}",
        f"{per_step('dense_gradients_sent_bytes') / MIB:,.1f}",
        f"{max(both) * len(both) / sum(both):.2f}",
        f"{result['lookup_imbalance_thousandths'] / 1000:.2f}",
    ]


def table_lines(studies):
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|" + "---|" * len(COLUMNS)
    for study in studies:
        for result in study["placements"]:
            yield "| " + " | ".join(str(cell) for cell in row_of(study, result)) + " |"


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
