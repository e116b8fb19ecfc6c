"""PyTorch programs that are hard on a tracer. usage: gpu_smoke_torch.py graph | profiler | endless

graph: captures a training step into a CUDA graph and replays it. profiler: holds CUPTI. endless: to be killed.
Prints numbers that must not depend on being recorded.
"""
import sys

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
else:
    while True:
        step()
