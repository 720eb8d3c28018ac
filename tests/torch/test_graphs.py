# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs: captured and replayed ten times, captured with a fork to a second stream, and make_graphed_callables."""
import torch
from torch import nn

REPLAYS, STEPS = 10, 5


def captured():
    x = torch.randn(64, 64, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            (x @ x).relu() + 1
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x @ x).relu() + 1
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            z = x * 2
        torch.cuda.current_stream().wait_stream(other)
        y = y + z
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()


def callables():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(8, 64, device="cuda"),))
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
    for _ in range(STEPS):
        optimizer.zero_grad()
        graphed(torch.randn(8, 64, device="cuda")).sum().backward()
        optimizer.step()
    torch.cuda.synchronize()


captured()
callables()
print("done")
