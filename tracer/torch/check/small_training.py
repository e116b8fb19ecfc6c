# SPDX-License-Identifier: Apache-2.0
"""Trains a small network for three steps and allocates some tensors of known sizes, for gpu_smoke.sh to observe.

Prints the losses. With UVMTRACE_SMOKE_FACTS it writes what the program itself knows about its memory to that file.
"""

import json
import os

import torch
from torch import nn

torch.manual_seed(1)
torch.backends.cudnn.benchmark = False
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.allow_tf32 = False


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        return self.linear(self.norm(x))


model = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), Head()).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images, labels = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
for index in range(3):
    x, y = images.cuda(), labels.cuda()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"iteration {index} loss {loss.item()!r}")

known = [torch.empty(count, dtype=torch.uint8, device="cuda") for count in (1, 513, 1_000_001, 1 << 20, 30_000_000)]
# A tensor that another stream uses is freed when that stream is done.
side = torch.cuda.Stream()
shared = torch.zeros(5_000_000, dtype=torch.uint8, device="cuda")
shared_at = shared.data_ptr()
with torch.cuda.stream(side):
    torch.cuda._sleep(100_000_000)
    shared.record_stream(side)
del shared
between = torch.empty(4_000_000, dtype=torch.uint8, device="cuda")  # the free does not complete before this
torch.cuda.synchronize()
last = torch.empty(777, dtype=torch.uint8, device="cuda")  # the allocator now checks which streams have finished
if "UVMTRACE_SMOKE_FACTS" in os.environ:
    statistics = torch.cuda.memory_stats()
    facts = {
        "known": [[tensor.data_ptr(), tensor.numel()] for tensor in [*known, last]],
        "weight": [model[0].weight.data_ptr(), model[0].weight.numel() * 4],
        "shared": shared_at,
        "requested": statistics.get("requested_bytes.all.current", 0),
        "allocations": statistics.get("allocation.all.current", 0),
        "reserved": statistics.get("reserved_bytes.all.current", 0),
    }
    with open(os.environ["UVMTRACE_SMOKE_FACTS"], "w") as file:
        json.dump(facts, file)
