# SPDX-License-Identifier: Apache-2.0
"""Training steps of the models of workloads/recipes/paper_models.py on managed memory: what whole_models.py and
model_kernels.py share. Every tensor is one managed allocation, freed when it dies."""
import os
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def add_options(parser):
    parser.add_argument("output")
    parser.add_argument("models", help="names, separated by commas")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no model after this time")


def models_in_time(options, say):
    """Yields the models that begin in time; say(text) is called for the others."""
    begin = time.monotonic()
    for name in options.models.split(","):
        if time.monotonic() - begin > options.seconds:
            say(f"{name} left out: --seconds")
        else:
            yield name


def use_managed_memory(recorder):
    """Makes PyTorch allocate by the library uvm_library_recorder. Call before anything is on the GPU, and keep what it
    returns as long as PyTorch runs."""
    import torch

    allocator = torch.cuda.memory.CUDAPluggableAllocator(recorder, "uvm_allocate", "uvm_release")
    torch.cuda.memory.change_current_allocator(allocator)
    return allocator


def training_step(name):
    """Returns a function that runs a step of the model."""
    import torch

    sys.path.insert(0, os.path.join(TOP, "workloads", "recipes"))
    import paper_models
    import recipe

    recipe.prepare(0)
    model, inputs, loss_of = paper_models.MODELS[name](0)
    model = model.train().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step():
        on_gpu = [tensor.cuda() for tensor in inputs]
        optimizer.zero_grad()
        loss = loss_of(model, *on_gpu)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
