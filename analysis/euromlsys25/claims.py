# SPDX-License-Identifier: Apache-2.0
"""The 22 claims of the paper, each with the rule that judges it. A verdict comes from the data alone.

`CLAIMS` lists them; `judge(claim, paper, kernels)` gives an `Outcome`. Rules E1 to E12 are about time, E13 to E22 about
memory; they are registered by the modules below in the order of their numbers.
"""

import dataclasses
import typing

from analysis.euromlsys25.paper import MissingData
from analysis.euromlsys25.rules import NO_DATA, Outcome


@dataclasses.dataclass(frozen=True)
class Claim:
    number: int
    claim: str
    paper: str  # the paper's statement: its number, or the trend
    rule: str  # when it holds
    work: typing.Callable

    @property
    def name(self):
        return f"E{self.number}"


CLAIMS = []


def claim(number, text, paper, rule):
    """Registers the function below it as the rule of a claim."""

    def register(work):
        CLAIMS.append(Claim(number, text, paper, rule, work))
        return work

    return register


def judge(one, paper, kernels):
    """`kernels` holds the working sets of kernels (kernels.py), or is None."""
    try:
        return one.work(paper, kernels)
    except MissingData as missing:
        return Outcome(NO_DATA, str(missing))
