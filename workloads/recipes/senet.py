# SPDX-License-Identifier: Apache-2.0
"""SENet-154 (Hu, Shen, Sun: Squeeze-and-Excitation Networks, CVPR 2018), as its paper's table describes it."""

from torch import nn


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduction=16):
        super().__init__()
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, channels // reduction, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels // reduction, channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return x * self.scale(x)


def convolution(inputs, outputs, kernel, stride=1, groups=1, relu=True):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if relu else []))


class Block(nn.Module):
    """Twice as wide inside as a ResNeXt block, in 64 groups; the shortcut of a smaller image has a 3x3 kernel."""

    def __init__(self, inputs, width, stride, shortcut):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            convolution(inputs, 2 * width, 1),
            convolution(2 * width, outputs, 3, stride, groups=64),
            convolution(outputs, outputs, 1, relu=False),
            SqueezeExcite(outputs),
        )
        self.shortcut = shortcut
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


def senet154(classes=1000):
    layers = [
        convolution(3, 64, 3, 2),
        convolution(64, 64, 3),
        convolution(64, 128, 3),
        nn.MaxPool2d(3, 2, padding=1),
    ]
    channels = 128
    for stage, blocks in enumerate((3, 8, 36, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            shortcut = nn.Identity()
            if block == 0:
                shortcut = convolution(channels, 4 * width, 3 if stage > 0 else 1, stride, relu=False)
            layers.append(Block(channels, width, stride, shortcut))
            channels = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(channels, classes)]
    return nn.Sequential(*layers)
