# SPDX-License-Identifier: Apache-2.0
"""Memory: PyTorch's own peak, an allocation too many, a tensor shared with another process.

Prints "peak BYTES" (max_memory_reserved) and "ok".
"""
import torch
import torch.multiprocessing as mp


def child(queue, answers):
    t = queue.get()
    assert t.is_cuda and t.shape == (1000, 300) and t[7, 5].item() == 7 * 300 + 5
    t[9, 9:11].copy_(torch.tensor([-1.0, -2.0]))
    torch.cuda.synchronize()
    del t
    answers.put("done")


def share():
    queue, answers = mp.Queue(), mp.Queue()
    p = mp.Process(target=child, args=(queue, answers))
    p.start()
    t = torch.arange(300000.0).reshape(1000, 300).cuda()
    queue.put(t)
    assert answers.get(timeout=120) == "done"
    p.join()
    assert p.exitcode == 0
    assert [t[9, i].item() for i in (8, 9, 10, 11)] == [2708, -1, -2, 2711]


def main():
    keep = [torch.empty(300 << 20, dtype=torch.uint8, device="cuda") for _ in range(3)]
    y = torch.zeros(1000, 1000, device="cuda")
    keep += [y @ y, torch.arange(1000000.0).cuda()]
    assert keep[-1].cpu()[12345] == 12345
    del keep[1]
    torch.cuda.empty_cache()
    keep.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
    try:
        torch.empty(200 << 30, dtype=torch.uint8, device="cuda")
        raise SystemExit("200 GiB fit")
    except torch.OutOfMemoryError as e:
        assert "Tried to allocate 200.00 GiB" in str(e), e
    assert keep[-2].clone().cpu()[12345] == 12345
    share()
    torch.cuda.synchronize()
    print("peak", torch.cuda.max_memory_reserved(), "ok")


if __name__ == "__main__":
    mp.set_start_method("spawn")
    main()
