# SPDX-License-Identifier: Apache-2.0
"""A decoder-only language model in plain PyTorch: RMS norm, rotary positions, grouped-query attention, SwiGLU.

The default is of 1.1 billion parameters: 22 layers of width 2048, 32 heads over 4 key-value heads, vocabulary 32000.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass
class Config:
    layers: int = 22
    width: int = 2048
    heads: int = 32
    key_value_heads: int = 4
    hidden: int = 5632
    vocabulary: int = 32000
    rotary_base: float = 10000.0


def rotary_table(config, length, device, dtype):
    """Cosines and sines of shape (length, head width)."""
    half = config.width // config.heads // 2
    frequency = config.rotary_base ** (-torch.arange(half, device=device, dtype=torch.float32) / half)
    angle = torch.outer(torch.arange(length, device=device, dtype=torch.float32), frequency)
    angle = torch.cat([angle, angle], dim=-1)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def rotate(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([-second, first], dim=-1) * sine


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.head_width = config.width // config.heads
        key_value_width = config.key_value_heads * self.head_width
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.key = nn.Linear(config.width, key_value_width, bias=False)
        self.value = nn.Linear(config.width, key_value_width, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)

    def forward(self, x, cosine, sine, cache):
        batch, length, width = x.shape

        def split(heads):
            return heads.view(batch, length, -1, self.head_width).transpose(1, 2)

        query = rotate(split(self.query(x)), cosine, sine)
        key = rotate(split(self.key(x)), cosine, sine)
        value = split(self.value(x))
        if cache is not None:
            if cache:  # grows by copying, one tensor per layer and token
                key = torch.cat([cache[0], key], dim=2)
                value = torch.cat([cache[1], value], dim=2)
            cache[:] = [key, value]
        groups = self.config.heads // self.config.key_value_heads
        key = key.repeat_interleave(groups, dim=1)
        value = value.repeat_interleave(groups, dim=1)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=length > 1)
        return self.output(attended.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width, eps=1e-5)
        self.attention = Attention(config)
        self.mlp_norm = nn.RMSNorm(config.width, eps=1e-5)
        self.gate = nn.Linear(config.width, config.hidden, bias=False)
        self.up = nn.Linear(config.width, config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x, cosine, sine, cache):
        x = x + self.attention(self.attention_norm(x), cosine, sine, cache)
        y = self.mlp_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.width, eps=1e-5)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens, caches=None, position=0):
        """Logits of every position; `caches` is a list of one list per layer, filled and grown here."""
        x = self.embedding(tokens)
        length = tokens.shape[1]
        table = rotary_table(self.config, position + length, tokens.device, x.dtype)
        cosine, sine = (part[position:] for part in table)
        for index, block in enumerate(self.blocks):
            x = block(x, cosine, sine, None if caches is None else caches[index])
        return self.head(self.norm(x))


def build(config):
    """On the GPU, in bfloat16, with random weights."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            return Decoder(config)
    finally:
        torch.set_default_dtype(default)
