# SPDX-License-Identifier: Apache-2.0
"""Whisper small: the encoder runs without gradients, the decoder is trained. Texts have 80 to 160 tokens and are padded
to their batch's longest."""

import math
import random

import torch
from torch import nn
from torch.nn import functional

from euromlsys25.program import Program

LAYERS, WIDTH, HEADS, WORDS, POSITIONS = 12, 768, 12, 51865, 448
MELS, FRAMES, AUDIO_POSITIONS = 80, 3000, 1500
SHORTEST, LONGEST = 80, 160
NO_TARGET = -100


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.merge = nn.Linear(WIDTH, WIDTH)

    @staticmethod
    def heads(x):
        return x.view(*x.shape[:2], HEADS, -1).permute(0, 2, 1, 3)

    def forward(self, x, source=None, causal=False):
        """`source`: what is attended to, the input itself where none is given."""
        source = x if source is None else source
        query, key, value = self.heads(self.query(x)), self.heads(self.key(source)), self.heads(self.value(source))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return self.merge(mixed.permute(0, 2, 1, 3).flatten(2))


class Block(nn.Module):
    def __init__(self, crosses):
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.cross_norm, self.cross = (nn.LayerNorm(WIDTH), Attention()) if crosses else (None, None)
        self.feed_norm = nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, audio=None):
        x = x + self.attention(self.attention_norm(x), causal=audio is not None)
        if audio is not None:
            x = x + self.cross(self.cross_norm(x), audio)
        return x + self.feed(self.feed_norm(x))


def sines():
    """The fixed embedding of positions in time: sines, then cosines, of falling frequencies."""
    half = WIDTH // 2
    frequencies = torch.exp(-math.log(10000.0) / (half - 1) * torch.arange(half))
    angles = torch.arange(AUDIO_POSITIONS).unsqueeze(1) * frequencies
    return torch.cat((angles.sin(), angles.cos()), dim=1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(MELS, WIDTH, 3, padding=1)
        self.second = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.register_buffer("positions", sines())
        self.blocks = nn.ModuleList(Block(crosses=False) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, mels):
        x = functional.gelu(self.first(mels))
        x = functional.gelu(self.second(x)).permute(0, 2, 1)
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Decoder(nn.Module):
    """The output words share the embedding's weights."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Parameter(torch.empty(POSITIONS, WIDTH).normal_(std=0.02))
        self.blocks = nn.ModuleList(Block(crosses=True) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens, audio):
        x = self.words(tokens) + self.positions[: tokens.size(1)]
        for block in self.blocks:
            x = block(x, audio)
        return self.norm(x) @ self.words.weight.transpose(0, 1)


class Whisper(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()


class Loss:
    """Keeps what the encoder and the decoder gave until the next iteration replaces it."""

    def __init__(self):
        self.audio = self.logits = None

    def __call__(self, model, mels, tokens, targets):
        with torch.no_grad():
            self.audio = model.encoder(mels)
        self.logits = model.decoder(tokens, self.audio)
        return functional.cross_entropy(self.logits.view(-1, WORDS), targets.view(-1), ignore_index=NO_TARGET)


def whisper(batch):
    batch = batch or 16
    mels = torch.randn(batch, MELS, FRAMES)

    def draw():
        lengths = [random.randint(SHORTEST, LONGEST) for _ in range(batch)]
        tokens = torch.zeros(batch, max(lengths), dtype=torch.long)
        targets = torch.full_like(tokens, NO_TARGET)
        for row, length in enumerate(lengths):
            tokens[row, :length] = torch.randint(0, WORDS, (length,))
            targets[row, : length - 1] = tokens[row, 1:length]
        return mels, tokens, targets

    return Program(
        model=Whisper(),
        optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
        draw=draw,
        loss=Loss(),
    )
