# SPDX-License-Identifier: Apache-2.0
"""GPT-2 (117M) written out in elementary operations: layer norm, GELU and the causal mask are composed, nothing is
fused but the projection to queries, keys and values. Sequences have 341 to 512 tokens and are padded to their batch's
longest."""

import math
import random

import torch
from torch import nn
from torch.nn import functional

from euromlsys25.program import Program

LAYERS, WIDTH, HEADS, WORDS, POSITIONS = 12, 768, 12, 50257, 1024
SHORTEST, LONGEST = 341, 512
NO_TARGET = -1


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


class LayerNorm(nn.Module):
    def __init__(self, width=WIDTH, epsilon=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.epsilon = epsilon

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).pow(2).mean(-1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + self.epsilon)
        return self.weight * x + self.bias


class Projection(nn.Module):
    """A linear layer as one addmm, its weight stored inputs by outputs."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        flat = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return flat.view(*x.shape[:-1], -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        seen = torch.tril(torch.ones(POSITIONS, POSITIONS))
        self.register_buffer("seen", seen.view(1, 1, POSITIONS, POSITIONS))
        self.project = Projection(WIDTH, 3 * WIDTH)
        self.merge = Projection(WIDTH, WIDTH)
        self.softmax = nn.Softmax(dim=-1)

    @staticmethod
    def heads(x):
        return x.view(*x.shape[:-1], HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        query, key, value = (self.heads(part) for part in self.project(x).split(WIDTH, dim=2))
        present = torch.stack((key, value))
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(value.size(-1))
        seen = self.seen[:, :, : x.size(1), : x.size(1)]
        scores = self.softmax(scores * seen - 1e10 * (1 - seen))
        mixed = torch.matmul(scores, value).transpose(1, 2).contiguous()
        return self.merge(mixed.view(*x.shape)), present


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = LayerNorm(), Attention()
        self.feed_norm = LayerNorm()
        self.widen, self.narrow = Projection(WIDTH, 4 * WIDTH), Projection(4 * WIDTH, WIDTH)

    def forward(self, x):
        attended, present = self.attention(self.attention_norm(x))
        x = x + attended
        return x + self.narrow(gelu(self.widen(self.feed_norm(x)))), present


class Gpt2(nn.Module):
    """Its loss; the output words share the embedding's weights."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        for embedding in (self.words, self.positions):
            nn.init.normal_(embedding.weight, std=0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = LayerNorm()

    def forward(self, tokens, targets):
        x = self.words(tokens) + self.positions(torch.arange(tokens.size(1), device=tokens.device))
        presents = []
        for block in self.blocks:
            x, present = block(x)
            presents.append(present)
        logits = functional.linear(self.norm(x), self.words.weight)
        return functional.cross_entropy(logits.view(-1, WORDS), targets.view(-1), ignore_index=NO_TARGET)


def gpt2(batch):
    def draw():
        lengths = [random.randint(SHORTEST, LONGEST) for _ in range(batch or 8)]
        tokens = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
        targets = torch.full_like(tokens, NO_TARGET)
        for row, length in enumerate(lengths):
            tokens[row, :length] = torch.randint(0, WORDS, (length,))
            targets[row, : length - 1] = tokens[row, 1:length]
        return tokens, targets

    return Program(
        model=Gpt2(),
        optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=5e-5),
        draw=draw,
        loss=lambda model, tokens, targets: model(tokens, targets),
    )
