# SPDX-License-Identifier: Apache-2.0
"""Durations recorded on one GPU, scaled to another by the roofline, against those recorded there: by class of kernel.

    uvmsim run workloads/gpt2.uvmt --system h100-sxm --layout pytorch_caching --profile scaled.profile
    uvmsim run workloads/h100/gpt2.uvmt --system h100-sxm --layout pytorch_caching --profile recorded.profile
    uvmsim run workloads/gpt2.uvmt --system h200-sxm-pcie5 --layout pytorch_caching --profile unscaled.profile
    python3 -m analysis.roofline scaled.profile recorded.profile unscaled.profile

The last is the first one's trace on the GPU that recorded it, to show what leaving durations as they are would do.
Launches are matched by name, in order (longest common runs); those that only one GPU has are left out and counted. The
warm-up iteration does not count.
"""

import argparse
import difflib
import sys

import pandas

from analysis.command import run
from analysis.errors import ResultError
from analysis.profiles import Profile

# A kernel belongs to the first class with a part of its name; names of kernels keep their mangling.
CLASSES = (
    ("convolution", ("fprop", "dgrad", "wgrad", "conv", "winograd", "nchwToNhwc", "nhwcToNchw", "implicit")),
    ("matrix product", ("gemm", "nvjet", "splitK", "cutlass")),
    ("normalisation, softmax", ("batch_norm", "bn_", "layer_norm", "LayerNorm", "GammaBeta", "softmax", "SoftMax")),
    ("optimizer", ("multi_tensor",)),
    ("element by element", ("elementwise", "CatArray", "dropout")),
)


def class_of(name):
    for label, parts in CLASSES:
        if any(part in name for part in parts):
            return label
    return "other"


def kernels_of(path):
    with Profile(path) as profile:
        return profile.query(
            "SELECT name, compute_ns FROM operations JOIN names USING (name_id)"
            " WHERE kind = 'kernel' AND iteration > 0 ORDER BY iteration, record"
        )


def joined(scaled, recorded, unscaled):
    """Returns one row per launch that both recordings have, and the number of launches without a partner."""
    first, other, same = (kernels_of(path) for path in (scaled, recorded, unscaled))
    if list(first["name"]) != list(same["name"]):
        raise ResultError(f"{unscaled}: not the launches of {scaled}; allowed: the same trace on two systems")
    matcher = difflib.SequenceMatcher(None, list(first["name"]), list(other["name"]), autojunk=False)
    here, there = [], []
    for begin, partner, length in matcher.get_matching_blocks():
        here += range(begin, begin + length)
        there += range(partner, partner + length)
    if not here:
        raise ResultError("the recordings have no launch in common")
    rows = pandas.DataFrame(
        {
            "class": first["name"].iloc[here].map(class_of).to_numpy(),
            "scaled": first["compute_ns"].iloc[here].to_numpy(),
            "recorded": other["compute_ns"].iloc[there].to_numpy(),
            "unscaled": same["compute_ns"].iloc[here].to_numpy(),
        }
    )
    return rows, len(first) + len(other) - 2 * len(rows)


def row_of(name, members):
    """Returns the share of the time, sums against the recorded sum, and the median error of one launch, each with and
    without scaling."""
    errors = [(members[way] / members["recorded"] - 1).abs().median() for way in ("scaled", "unscaled")]
    total = members["recorded"].sum()
    return {
        "class": name,
        "launches": len(members),
        "recorded ms": f"{total / 1e6:.1f}",
        "scaled / recorded": f"{members['scaled'].sum() / total:.3f}",
        "median error": f"{errors[0]:.1%}",
        "unscaled / recorded": f"{members['unscaled'].sum() / total:.3f}",
        "median error unscaled": f"{errors[1]:.1%}",
    }


def table_of(rows):
    parts = sorted(rows.groupby("class"), key=lambda part: -part[1]["recorded"].sum())
    return pandas.DataFrame([*(row_of(*part) for part in parts), row_of("all", rows)])


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="roofline", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("scaled", "recorded", "unscaled"):
        parser.add_argument(name, metavar=name.upper())
    given = parser.parse_args(arguments)

    def work():
        rows, alone = joined(given.scaled, given.recorded, given.unscaled)
        print(table_of(rows).to_string(index=False))
        print(f"launches without a partner: {alone}")

    return run("roofline", work)


if __name__ == "__main__":
    sys.exit(main())
