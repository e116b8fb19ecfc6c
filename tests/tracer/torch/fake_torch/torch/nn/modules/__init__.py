# SPDX-License-Identifier: Apache-2.0
from torch.nn.modules import module  # noqa: F401
