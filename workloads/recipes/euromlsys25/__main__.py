# SPDX-License-Identifier: Apache-2.0
"""Trains one of the six programs of the EuroMLSys '25 paper, with random weights and inputs.

Precision as PyTorch ships it (TF32 in convolutions). Inputs are copied to the GPU in every iteration. Gradients are
dropped between the forward and the backward pass, and an iteration's loss lives until the next one's is there, as in the
paper's programs.
"""

import json
import random
import sys

import torch

import recipe
from euromlsys25.alexnet import alexnet
from euromlsys25.bert import bert
from euromlsys25.gpt2 import gpt2
from euromlsys25.resnet import resnet50, resnet101
from euromlsys25.whisper import whisper

MODELS = {make.__name__: make for make in (alexnet, resnet50, resnet101, gpt2, bert, whisper)}
MIB = 1 << 20


class Training:
    """One call is one iteration."""

    def __init__(self, program):
        self.program = program
        self.model = program.model.train().cuda()
        self.optimizer = program.optimizer(self.model.parameters())
        self.loss = None

    def __call__(self, _):
        inputs = [tensor.cuda() for tensor in self.program.draw()]
        self.loss = self.program.loss(self.model, *inputs)
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()
        return self.loss.detach()


class Memory:
    """After each iteration, in MiB: what the caching allocator holds, the most that was live in it, and all that the
    process takes of the GPU since it has a context: the allocator's segments, what libraries allocate, code of kernels as
    it is loaded. Nobody else may use the GPU meanwhile."""

    def __init__(self, path):
        self.path, self.rows, self.work = path, [], None
        self.before = torch.cuda.mem_get_info()[0]  # makes the context, and loads nothing

    def __call__(self, index):
        torch.cuda.reset_peak_memory_stats()
        try:
            return self.work(index)
        finally:
            row = {
                "reserved_mib": torch.cuda.memory_reserved() / MIB,
                "live_mib": torch.cuda.max_memory_allocated() / MIB,
                "taken_mib": (self.before - torch.cuda.mem_get_info()[0]) / MIB,
                "retries": torch.cuda.memory_stats()["num_alloc_retries"],
            }
            self.rows.append(row)
            if self.path:
                with open(self.path, "w", encoding="utf-8") as file:
                    json.dump({"gpu": torch.cuda.get_device_name(), "iterations": self.rows}, file, indent=1)


def main():
    parser = recipe.options(__doc__.splitlines()[0], iterations=10)
    parser.set_defaults(seed=100)
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--batch", type=int, default=0, help="0: the paper's")
    parser.add_argument("--memory", metavar="FILE", help="writes memory per iteration there, as JSON")
    arguments = parser.parse_args()
    recipe.prepare(arguments.seed, default_precision=True)
    random.seed(arguments.seed)

    memory = Memory(arguments.memory)
    memory.work = Training(MODELS[arguments.model](arguments.batch))
    recipe.run_iterations(arguments.iterations, memory)


if __name__ == "__main__":
    sys.exit(main())
