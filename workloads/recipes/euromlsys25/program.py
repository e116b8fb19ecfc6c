# SPDX-License-Identifier: Apache-2.0
"""The content of each program's file: a model and its training."""

import dataclasses
import typing

import torch


@dataclasses.dataclass
class Program:
    model: torch.nn.Module
    optimizer: typing.Callable  # of the parameters
    draw: typing.Callable  # the inputs of the next iteration, in host memory
    loss: typing.Callable  # of the model and its inputs


def image_classifier(model, batch, pixels=512, classes=10):
    """Random images, the same in all iterations, and random probabilities of the classes as targets; plain SGD."""
    images = torch.randn(batch, 3, pixels, pixels)
    targets = torch.rand(batch, classes).softmax(dim=1)
    return Program(
        model=model,
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
        draw=lambda: (images, targets),
        loss=lambda model, x, y: torch.nn.functional.cross_entropy(model(x), y),
    )
