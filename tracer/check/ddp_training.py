# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training of a small network, a process per GPU, with data from forked workers; for torchrun.

With fewer GPUs than processes, all processes share GPU 0 and exchange gradients by gloo, because NCCL requires a GPU
for each.
"""

import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WIDTH, CLASSES, STEPS = 4096, 1000, 3


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    shared = torch.cuda.device_count() < world
    distributed.init_process_group("gloo" if shared else "nccl")
    device = torch.device("cuda", 0 if shared else int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(STEPS * 2 * world * 64, WIDTH), torch.randint(0, CLASSES, (STEPS * 2 * world * 64,)))
    loader = DataLoader(data, batch_size=64, sampler=DistributedSampler(data, seed=0), num_workers=2)
    layers = [layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES)).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (inputs, labels) in zip(range(STEPS), loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        distributed.all_reduce(loss)
        if rank == 0:
            print(f"iteration {step} loss {loss.item()!r}", flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
