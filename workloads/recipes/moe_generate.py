# SPDX-License-Identifier: Apache-2.0
"""A mixture-of-experts decoder that generates token by token, with a key-value cache larger than its weights.

The cache is allocated for the whole context at once and comes filled with random keys and values, as if another machine
had read the prompts. Every token goes to two of eight experts; each expert computes its tokens together.
"""

import torch
from torch import nn
from torch.nn import functional

import recipe


class Experts(nn.Module):
    def __init__(self, width, hidden, count):
        super().__init__()
        self.router = nn.Linear(width, count, bias=False)
        self.up = nn.Parameter(torch.randn(count, width, hidden) * width**-0.5)
        self.down = nn.Parameter(torch.randn(count, hidden, width) * hidden**-0.5)

    def forward(self, x):
        weights, chosen = self.router(x).softmax(dim=-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for expert in range(self.up.shape[0]):
            rows, place = torch.where(chosen == expert)
            if rows.numel() == 0:
                continue
            made = functional.silu(x[rows] @ self.up[expert]) @ self.down[expert]
            out.index_add_(0, rows, made * weights[rows, place, None])
        return out


class Block(nn.Module):
    def __init__(self, width, heads, key_value_heads, hidden, experts):
        super().__init__()
        self.heads, self.key_value_heads, self.head_width = heads, key_value_heads, width // heads
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.qkv = nn.Linear(width, (heads + 2 * key_value_heads) * self.head_width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.experts_norm = nn.RMSNorm(width, eps=1e-5)
        self.experts = Experts(width, hidden, experts)

    def forward(self, x, cache, position):
        """x: a token of each sequence; cache: (2, batch, key-value heads, context, head width)."""
        batch = x.shape[0]
        parts = self.qkv(self.norm(x)).view(batch, -1, 1, self.head_width)
        query, key, value = parts.split([self.heads, self.key_value_heads, self.key_value_heads], dim=1)
        cache[0, :, :, position : position + 1] = key
        cache[1, :, :, position : position + 1] = value
        keys, values = cache[:, :, :, : position + 1]
        # The query heads of a group share its keys: they are rows of one small product per key-value head.
        grouped = query.reshape(batch, self.key_value_heads, -1, self.head_width)
        scores = grouped @ keys.transpose(-1, -2) * self.head_width**-0.5
        attended = (scores.softmax(dim=-1) @ values).reshape(batch, -1)
        x = x + self.out(attended)
        return x + self.experts(self.experts_norm(x))


def main():
    parser = recipe.options(__doc__.splitlines()[0], iterations=8)
    parser.add_argument("--batch", type=int, default=64, help="sequences")
    parser.add_argument("--context", type=int, default=4096, help="tokens that the cache holds of each")
    parser.add_argument("--layers", type=int, default=4)
    arguments = parser.parse_args()
    recipe.prepare(arguments.seed)
    width, heads, key_value_heads, hidden, experts, vocabulary = 1024, 16, 8, 3584, 8, 32000
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        embedding = nn.Embedding(vocabulary, width)
        blocks = [Block(width, heads, key_value_heads, hidden, experts) for _ in range(arguments.layers)]
        norm = nn.RMSNorm(width, eps=1e-5)
        head = nn.Linear(width, vocabulary, bias=False)
        shape = (2, arguments.batch, key_value_heads, arguments.context, width // heads)
        caches = [torch.randn(shape) for _ in blocks]
        # Drawn beforehand: the model's own choice may tie.
        text = torch.randint(0, vocabulary, (arguments.iterations, arguments.batch))
    cached = sum(cache.nbytes for cache in caches)
    modules = [embedding, norm, head, *blocks]
    held = sum(weight.nbytes for module in modules for weight in module.parameters())
    assert cached > held, (cached, held)

    def iterate(index):
        with torch.inference_mode():
            x = embedding(text[index])
            for block, cache in zip(blocks, caches):
                x = block(x, cache, arguments.context - arguments.iterations + index)
            return round(head(norm(x)).float().mean().item(), 3)

    recipe.run_iterations(arguments.iterations, iterate, label="mean logit")


if __name__ == "__main__":
    main()
