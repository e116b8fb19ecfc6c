# SPDX-License-Identifier: Apache-2.0
"""AlexNet: torchvision's, ten classes."""

from euromlsys25.program import image_classifier


def alexnet(batch):
    import torchvision

    return image_classifier(torchvision.models.alexnet(num_classes=10), batch or 128)
