# SPDX-License-Identifier: Apache-2.0
"""A GPT of 124 million parameters under torch.compile in bfloat16: training with AdamW.

What is compiled is the loss of a batch; the backward pass comes with it. The first iteration compiles.
"""

import torch
from torch.nn import functional

import decoder
import recipe

GPT = decoder.Config(layers=12, width=768, heads=12, key_value_heads=12, hidden=2048, vocabulary=50304)


def main():
    parser = recipe.options(__doc__.splitlines()[0], iterations=4)
    parser.add_argument("--batch", type=int, default=8, help="sequences")
    parser.add_argument("--tokens", type=int, default=1024, help="per sequence")
    parser.add_argument("--layers", type=int, default=GPT.layers)
    parser.add_argument("--eager", action="store_true", help="the same without torch.compile")
    arguments = parser.parse_args()
    recipe.prepare(arguments.seed)
    GPT.layers = arguments.layers
    model = decoder.build(GPT)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, GPT.vocabulary, (arguments.batch, arguments.tokens + 1))

    def loss_of(batch):
        logits = model(batch[:, :-1])
        return functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    compiled = loss_of if arguments.eager else torch.compile(loss_of)

    def iterate(_):
        on_gpu = tokens.cuda()
        optimizer.zero_grad()
        loss = compiled(on_gpu)
        loss.backward()
        optimizer.step()
        return loss.detach()

    recipe.run_iterations(arguments.iterations, iterate)


if __name__ == "__main__":
    main()
