# SPDX-License-Identifier: Apache-2.0
"""BERT base, written out in elementary operations (layer norm by the standard deviation, GELU), without an output layer
for words: what the last block gives is judged against random probabilities. All iterations have the same length, drawn
once from 341 to 512 tokens."""

import math
import random

import torch
from torch import nn
from torch.nn import functional

from euromlsys25.program import Program

LAYERS, WIDTH, HEADS, WORDS, POSITIONS = 12, 768, 12, 10000, 512
SHORTEST, LONGEST = 341, 512
DROPOUT = 0.1


class Gelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


class LayerNorm(nn.Module):
    def __init__(self, width=WIDTH, epsilon=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.epsilon = epsilon

    def forward(self, x):
        mean, deviation = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.scale * (x - mean) / (deviation + self.epsilon) + self.shift


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.merge = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x, mask):
        batch = x.size(0)
        query, key, value = (
            layer(x).view(batch, -1, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        weights = self.dropout(functional.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1))
        mixed = torch.matmul(weights, value).transpose(1, 2).contiguous()
        return self.merge(mixed.view(batch, -1, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = LayerNorm(), Attention()
        self.feed_norm = LayerNorm()
        self.feed = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), Gelu(), nn.Dropout(DROPOUT), nn.Linear(4 * WIDTH, WIDTH)
        )
        self.attention_dropout, self.feed_dropout, self.dropout = (nn.Dropout(DROPOUT) for _ in range(3))

    def forward(self, x, mask):
        x = x + self.attention_dropout(self.attention(self.attention_norm(x), mask))
        x = x + self.feed_dropout(self.feed(self.feed_norm(x)))
        return self.dropout(x)


def sines():
    """The fixed embedding of positions: sines and cosines of falling frequencies."""
    positions = torch.arange(POSITIONS, dtype=torch.float).unsqueeze(1)
    angles = positions * torch.exp(torch.arange(0, WIDTH, 2, dtype=torch.float) * (-math.log(10000.0) / WIDTH))
    return torch.stack((angles.sin(), angles.cos()), dim=2).view(1, POSITIONS, WIDTH)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.segments = nn.Embedding(3, WIDTH, padding_idx=0)
        self.register_buffer("positions", sines())
        self.dropout = nn.Dropout(DROPOUT)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, tokens, segments):
        mask = (tokens > 0).unsqueeze(1).repeat(1, tokens.size(1), 1).unsqueeze(1)
        x = self.words(tokens) + self.positions[:, : tokens.size(1)] + self.segments(segments)
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x, mask)
        return x


def bert(batch):
    batch = batch or 16
    length = random.randint(SHORTEST, LONGEST)
    tokens = torch.randint(1, WORDS, (batch, length))
    segments = torch.randint(1, 3, (batch, length))
    targets = torch.rand(batch, WIDTH, length).softmax(dim=1)

    return Program(
        model=Bert(),
        optimizer=lambda parameters: torch.optim.AdamW(parameters),
        draw=lambda: (tokens, segments, targets),
        loss=lambda model, x, kinds, y: functional.cross_entropy(model(x, kinds).transpose(1, 2), y),
    )
