# SPDX-License-Identifier: Apache-2.0
"""The first things a program does: look at the device, move data, add, multiply. Copies must bring the data back."""
import torch

assert torch.cuda.is_available() and torch.cuda.device_count() == 1
p = torch.cuda.get_device_properties(0)
print(p.name, "%d.%d" % (p.major, p.minor), p.multi_processor_count, p.total_memory)
free, total = torch.cuda.mem_get_info()
assert 0 < free <= total == p.total_memory

assert torch.zeros(7, device="cuda").cpu().tolist() == [0.0] * 7
x = torch.arange(1000, dtype=torch.float32)
for kind in ("plain", "pinned", "other stream"):
    s = torch.cuda.Stream() if kind == "other stream" else torch.cuda.current_stream()
    with torch.cuda.stream(s):
        host = x.pin_memory() if kind != "plain" else x
        there = host.to("cuda", non_blocking=kind != "plain")
        back = torch.empty_like(host)
        back.copy_(there, non_blocking=False)
    assert torch.equal(back, x), kind


# A large tensor costs nothing until it is touched.
big = torch.empty(40 << 30, dtype=torch.uint8, device="cuda")
assert torch.cuda.memory_allocated() >= 40 << 30
del big
try:
    torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
    raise SystemExit("4 TiB were allocated")
except torch.OutOfMemoryError:
    pass

a = torch.randn(64, 64, device="cuda")
for _ in range(3):
    b = a + a
    c = a @ b
    d = torch.baddbmm(c.expand(4, 64, 64), a.expand(4, 64, 64), b.expand(4, 64, 64))
for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.complex64):
    e = torch.ones(32, 32, device="cuda").to(dtype)
    e = e @ e
events = []
for _ in range(4):
    with torch.cuda.stream(torch.cuda.Stream()):
        a @ b
        events.append(torch.cuda.Event(enable_timing=True))
        events[-1].record()
for e in events:
    torch.cuda.current_stream().wait_event(e)
torch.cuda.synchronize()
assert events[0].elapsed_time(events[-1]) > 0
print("done")
