# SPDX-License-Identifier: Apache-2.0
"""A language model of 1.1 billion parameters in bfloat16: training, or generation token by token.

Matrix products run as tensor-memory-access kernels on Hopper, which instrumentation does not see: record with
--torch-operators.
"""

import torch
from torch.nn import functional

import decoder
import recipe


def train(arguments):
    config = decoder.Config(layers=arguments.layers)
    model = decoder.build(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, config.vocabulary, (arguments.batch or 4, (arguments.tokens or 1024) + 1))

    def iterate(_):
        on_gpu = tokens.cuda()
        optimizer.zero_grad()
        logits = model(on_gpu[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), on_gpu[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    recipe.run_iterations(arguments.iterations or 2, iterate)


def generate(arguments):
    """Iteration 0 reads the prompt, every further one adds one token per sequence.

    The tokens that are added are drawn beforehand: the model's own choice may differ from run to run, as logits of
    random weights in bfloat16 often tie.
    """
    config = decoder.Config(layers=arguments.layers)
    model = decoder.build(config).eval()
    iterations = arguments.iterations or 17
    length = arguments.tokens or 512
    text = torch.randint(0, config.vocabulary, (arguments.batch or 8, length + iterations)).cuda()
    caches = [[] for _ in range(config.layers)]

    def iterate(index):
        begin, end = (0, length) if index == 0 else (length + index - 1, length + index)
        with torch.inference_mode():
            logits = model(text[:, begin:end], caches, begin)
            choice = logits[:, -1].argmax(dim=-1)
            assert choice.shape[0] == text.shape[0]
        return round(logits.float().mean().item(), 2)

    recipe.run_iterations(iterations, iterate, label="mean logit")


def main():
    parser = recipe.options(__doc__.splitlines()[0], iterations=None)
    parser.add_argument("what", choices=["train", "generate"])
    parser.add_argument("--batch", type=int, default=0, help="sequences (default 4 in training, 8 in generation)")
    parser.add_argument("--tokens", type=int, default=0, help="per sequence (default 1024), or in the prompt (512)")
    parser.add_argument("--layers", type=int, default=22)
    arguments = parser.parse_args()
    recipe.prepare(arguments.seed)
    {"train": train, "generate": generate}[arguments.what](arguments)


if __name__ == "__main__":
    main()
