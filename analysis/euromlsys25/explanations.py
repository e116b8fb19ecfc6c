"""Why a claim does not hold, or holds only in part: one text per claim, each with the experiment that shows it. A claim
without a text is given as "unexplained".

A text is printed only beside a verdict other than "holds" and "definition"; verdicts come from the rules alone
(claims.py). Numbers are of the sweep of configs/sweeps/euromlsys25.json and of the traces in workloads/paper.
"""

EXPLANATIONS = {
    "E1": "With the paper's own program as far as it is known, on a card of 80 GB: batch 64 runs, 72 is out of memory in"
    " iteration 4, 76 and 80 in the first, measured on an H100 and the same in the model of the allocator"
    " (workloads/paper/README.md). Live tensors alone fit up to 76: 1.02 GiB per sample and 2 GiB of weights and optimizer"
    " state; the lengths of the sequences, drawn at random, decide about one batch size.",
}
