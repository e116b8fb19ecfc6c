# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 and ResNet-101 with bottlenecks of their own.

Unlike torchvision's: the convolutions of a block have biases, ReLU does not work in place, the shortcut starts from a
copy of the block's input, and the sum is written into the block's result.
"""

from torch import nn

from euromlsys25.program import image_classifier

EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, 3x3 (which has the stride), 1x1; the last is four times as wide."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * EXPANSION
        self.reduce = nn.Conv2d(inputs, width, 1)
        self.reduce_norm = nn.BatchNorm2d(width)
        self.spatial = nn.Conv2d(width, width, 3, stride, padding=1)
        self.spatial_norm = nn.BatchNorm2d(width)
        self.expand = nn.Conv2d(width, outputs, 1)
        self.expand_norm = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU()

    def forward(self, x):
        shortcut = x.clone()
        x = self.relu(self.reduce_norm(self.reduce(x)))
        x = self.relu(self.spatial_norm(self.spatial(x)))
        x = self.expand_norm(self.expand(x))
        x += self.shortcut(shortcut)
        return self.relu(x)


class ResNet(nn.Module):
    def __init__(self, blocks, classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)
        )
        stages, inputs = [], 64
        for stage, count in enumerate(blocks):
            width = 64 << stage
            for block in range(count):
                stages.append(Bottleneck(inputs, width, stride=2 if stage > 0 and block == 0 else 1))
                inputs = width * EXPANSION
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.classify(self.pool(self.stages(self.stem(x))).flatten(1))


def resnet50(batch):
    return image_classifier(ResNet((3, 4, 6, 3)), batch or 32)


def resnet101(batch):
    return image_classifier(ResNet((3, 4, 23, 3)), batch or 32)
