# SPDX-License-Identifier: Apache-2.0
"""A denoising step of a latent diffusion model: a UNet with cross-attention to a text, in bfloat16, inference.

The shape is that of the models of 2022 with latents of 4 x 64 x 64: widths 320, 640, 1280, 1280, attention in the first
three levels, 77 vectors of text. Weights and inputs are random; every iteration is a step of a batch of images.
"""

import torch
from torch import nn
from torch.nn import functional

import recipe


class Residual(nn.Module):
    def __init__(self, inputs, outputs, time_width):
        super().__init__()
        self.first_norm, self.first = nn.GroupNorm(32, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(time_width, outputs)
        self.second_norm, self.second = nn.GroupNorm(32, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        y = self.first(functional.silu(self.first_norm(x))) + self.time(time)[:, :, None, None]
        return self.skip(x) + self.second(functional.silu(self.second_norm(y)))


class Attention(nn.Module):
    def __init__(self, width, context_width):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(context_width, width, bias=False)
        self.value = nn.Linear(context_width, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x, context):
        def split(y):
            return y.view(y.shape[0], y.shape[1], 8, -1).transpose(1, 2)

        attended = functional.scaled_dot_product_attention(
            split(self.query(x)), split(self.key(context)), split(self.value(context))
        )
        return self.out(attended.transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    def __init__(self, width, text_width):
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.text = Attention(width, width), Attention(width, text_width)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x, text):
        y = self.norm(x).flatten(2).transpose(1, 2)
        z = self.norms[0](y)
        y = y + self.own(z, z)
        y = y + self.text(self.norms[1](y), text)
        value, gate = self.up(self.norms[2](y)).chunk(2, dim=-1)
        y = y + self.down(value * functional.gelu(gate))
        return x + y.transpose(1, 2).view_as(x)


class Unet(nn.Module):
    def __init__(self, channels=4, widths=(320, 640, 1280, 1280), text_width=768):
        super().__init__()
        time_width = 4 * widths[0]
        self.time = nn.Sequential(nn.Linear(widths[0], time_width), nn.SiLU(), nn.Linear(time_width, time_width))
        self.first = nn.Conv2d(channels, widths[0], 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        skips, width = [widths[0]], widths[0]
        for level, next_width in enumerate(widths):
            for _ in range(2):
                attends = level < len(widths) - 1
                self.down.append(self.stage(width, next_width, time_width, text_width if attends else 0))
                width = next_width
                skips.append(width)
            if level < len(widths) - 1:
                self.down.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                skips.append(width)
        self.middle = self.stage(width, width, time_width, text_width)
        for level, next_width in reversed(list(enumerate(widths))):
            for block in range(3):
                attends = level < len(widths) - 1
                self.up.append(self.stage(width + skips.pop(), next_width, time_width, text_width if attends else 0))
                width = next_width
            if level > 0:
                self.up.append(nn.Conv2d(width, width, 3, padding=1))
        self.norm, self.last = nn.GroupNorm(32, width), nn.Conv2d(width, channels, 3, padding=1)

    @staticmethod
    def stage(inputs, outputs, time_width, text_width):
        parts = [Residual(inputs, outputs, time_width)]
        if text_width:
            parts.append(Transformer(outputs, text_width))
        return nn.ModuleList(parts)

    @staticmethod
    def run(stage, x, time, text):
        x = stage[0](x, time)
        return stage[1](x, text) if len(stage) > 1 else x

    def forward(self, x, time, text):
        time = functional.silu(self.time(time))
        x = self.first(x)
        skips = [x]
        for stage in self.down:
            x = stage(x) if isinstance(stage, nn.Conv2d) else self.run(stage, x, time, text)
            skips.append(x)
        x = self.run(self.middle, x, time, text)
        for stage in self.up:
            if isinstance(stage, nn.Conv2d):
                x = stage(functional.interpolate(x, scale_factor=2.0))
            else:
                x = self.run(stage, torch.cat([x, skips.pop()], dim=1), time, text)
        return self.last(functional.silu(self.norm(x)))


def time_vector(step, width):
    half = width // 2
    angle = step * torch.exp(-9.21 * torch.arange(half, device="cuda", dtype=torch.float32) / half)
    return torch.cat([angle.cos(), angle.sin()]).to(torch.bfloat16)


def main():
    parser = recipe.options(__doc__.splitlines()[0], iterations=3)
    parser.add_argument("--batch", type=int, default=8, help="images")
    arguments = parser.parse_args()
    recipe.prepare(arguments.seed)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Unet().eval()
        latents = torch.randn(arguments.batch, 4, 64, 64)
        text = torch.randn(arguments.batch, 77, 768)

    def iterate(index):
        nonlocal latents
        with torch.inference_mode():
            time = time_vector(981 - 20 * index, 320).expand(arguments.batch, -1)
            noise = model(latents, time, text)
            latents = latents - 0.05 * noise
            return round(latents.float().std().item(), 3)

    recipe.run_iterations(arguments.iterations, iterate, label="deviation")


if __name__ == "__main__":
    main()
