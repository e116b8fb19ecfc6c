# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs that are difficult for a tracer. usage: gpu_smoke_torch.py graph | profiler | threads | endless

graph: captures a training step into a CUDA graph and replays it. profiler: uses CUPTI. threads: four threads launch
at once, on streams that wait for each other. endless: runs until it is killed. Prints numbers that must not depend
on the recording.
"""
import sys
import threading

import torch

torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 256, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=False)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


what = sys.argv[1]
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
if what == "graph":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(5):
        graph.replay()
    print(f"graph: loss {loss.item():.9f}")
elif what == "profiler":
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        print(f"profiler: loss {step().item():.9f}")
elif what == "threads":
    streams = [torch.cuda.Stream() for _ in range(4)]
    sums = [None] * 4

    def work(index):
        with torch.cuda.stream(streams[index]):
            value = torch.full((1 << 20,), float(index), device="cuda")
            for turn in range(200):
                value = value * 0.5 + turn
                if turn % 20 == 0:
                    streams[index].wait_stream(streams[(index + 1) % 4])
                if turn % 50 == 0:
                    streams[index].synchronize()
            sums[index] = value.sum().item()

    workers = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"threads: {sums}")
else:
    while True:
        step()
