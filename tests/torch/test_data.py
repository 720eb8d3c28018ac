# SPDX-License-Identifier: Apache-2.0
"""A DataLoader whose forked workers pin memory through a thread of the parent: only the parent uses CUDA."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((256,), float(i)), i % 10


def main():
    model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = DataLoader(Numbers(), batch_size=16, num_workers=2, pin_memory=True)
    for _ in range(2):
        for x, y in loader:
            assert x.is_pinned()
            there = x.cuda(non_blocking=True)
            loss = nn.functional.cross_entropy(model(there), y.cuda(non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            assert torch.equal(there.cpu(), x)
    torch.cuda.synchronize()
    print("done")


main()
