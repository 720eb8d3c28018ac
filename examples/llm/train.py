#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT on random tokens: one process, or several with one of the usual ways to share the work.

Losses go to standard output and depend on nothing but arguments and seed; times go to standard error. The number of
steps is fixed beforehand, and no branch depends on a value from the device, so that it also ends where device results
are not real numbers (the simulated CUDA computes nothing). See README.md.
"""
import argparse
import contextlib
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.profiler import record_function

from model import SIZES, Gpt, flops_per_token, loss_of


def arguments():
    p = argparse.ArgumentParser(description="Trains a GPT on random tokens.")
    p.add_argument("--size", choices=SIZES, default="tiny")
    p.add_argument("--steps", type=int, default=20, help="how many (default 20)")
    p.add_argument("--batch", type=int, help="sequences per rank and step (default: by size)")
    p.add_argument("--seq", type=int, help="tokens per sequence (default: by size)")
    p.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="bf16: autocast, fp32 weights")
    p.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    p.add_argument("--ranks", type=int, default=1, help="start so many processes here (else: torchrun)")
    how = p.add_mutually_exclusive_group()
    how.add_argument("--ddp", action="store_true", help="replicas, gradients all-reduced")
    how.add_argument("--fsdp2", action="store_true", help="weights sharded, activations recomputed")
    how.add_argument("--tp", action="store_true", help="tensor and sequence parallel over all ranks")
    how.add_argument("--pp", action="store_true", help="pipeline over all ranks, 1F1B")
    p.add_argument("--recompute", action=argparse.BooleanOptionalAction, default=None,
                   help="activation checkpointing of each block (default: with --fsdp2)")
    p.add_argument("--microbatches", type=int, default=4, help="of a pipeline (default 4)")
    p.add_argument("--graphs", choices=("step", "callables"), help="CUDA graphs: of the whole step, or of the model")
    p.add_argument("--compile", action="store_true", help="torch.compile the model")
    p.add_argument("--profile", metavar="FILE", help="torch.profiler over the last 3 steps, Chrome trace of rank 0")
    p.add_argument("--log-every", type=int, default=10, metavar="N",
                   help="read the loss every N steps and after the last, 0 = never")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    check(p, a)
    if a.ranks > 1 and "RANK" not in os.environ:
        start_ranks(a)
    if a.device == "auto":
        a.device = "cuda" if torch.cuda.is_available() else "cpu"
    if a.device == "cuda" and not torch.cuda.is_available():
        p.error("no CUDA device")
    if a.graphs and a.device != "cuda":
        p.error("--graphs needs a CUDA device")
    return a


def check(p, a):
    shared = a.ddp or a.fsdp2 or a.tp or a.pp
    a.layers, a.width, a.heads, a.vocab, seq, batch = SIZES[a.size]
    a.seq, a.batch = a.seq or seq, a.batch or batch
    if not 1 <= a.steps <= 100000:
        p.error("--steps: 1 to 100000")
    if min(a.seq, a.batch, a.ranks, a.microbatches) < 1:
        p.error("--seq, --batch, --ranks and --microbatches are at least 1")
    a.world = int(os.environ.get("WORLD_SIZE", a.ranks))
    if a.world > 1 and not shared:
        p.error("%d ranks: say how they share the work: --ddp, --fsdp2, --tp or --pp" % a.world)
    if a.world == 1 and (a.tp or a.pp):
        p.error("--tp and --pp need two ranks or more: --ranks 2, or torchrun")
    if a.pp and (a.layers < a.world or a.batch % a.microbatches):
        p.error("--pp: at most %d ranks, and a batch that --microbatches divides" % a.layers)
    if a.tp and (a.heads % a.world or a.seq % a.world):
        p.error("--tp: %d heads and %d tokens must be divisible by the ranks" % (a.heads, a.seq))
    if a.graphs and shared:
        p.error("--graphs: one process")
    if a.recompute is None:
        a.recompute = a.fsdp2


def start_ranks(a):
    """Becomes torchrun, before this process has touched CUDA."""
    os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                              str(a.ranks)] + sys.argv)


def start(a):
    """Device and process group of this rank."""
    a.rank, local = int(os.environ.get("RANK", 0)), int(os.environ.get("LOCAL_RANK", 0))
    if a.device == "cuda":
        a.device = torch.device("cuda", local % torch.cuda.device_count())
        torch.cuda.set_device(a.device)
    else:
        a.device = torch.device("cpu")
    torch.manual_seed(a.seed)
    if a.ddp or a.fsdp2 or a.tp or a.pp:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29531")
        nccl = a.device.type == "cuda"
        dist.init_process_group("nccl" if nccl else "gloo", rank=a.rank, world_size=a.world,
                                device_id=a.device if nccl else None)


def autocast(a):
    if a.precision == "fp32" or a.fsdp2:  # FSDP2 casts by its own policy
        return contextlib.nullcontext()
    return torch.autocast(a.device.type, torch.bfloat16, cache_enabled=not a.graphs)  # a graph keeps no cast of its own


def blank(a, **stage):
    """Built on no device: weights are made where they are used, and a sharded model never exists as a whole."""
    with torch.device("meta"):
        return Gpt(a.layers, a.width, a.heads, a.vocab, a.seq, recompute=a.recompute, **stage)


def fill(a, model):
    return model.to_empty(device=a.device).reset()


def shard(a, model):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    kind = dict(mesh=init_device_mesh(a.device.type, (a.world,)))
    if a.precision == "bf16":
        kind["mp_policy"] = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    for block in model.blocks:
        fully_shard(block, **kind)
    return fully_shard(model, **kind)


def tensor_parallel(a, model):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel,
                                                   SequenceParallel, parallelize_module)
    mesh = init_device_mesh(a.device.type, (a.world,))
    one, all_ = (Shard(1),), (Replicate(),)
    plan = {"tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": SequenceParallel(),
            "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())}
    for i in range(a.layers):
        b = "blocks.%d." % i
        plan.update({
            b + "norm1": SequenceParallel(), b + "norm2": SequenceParallel(),
            b + "attn": PrepareModuleInput(input_layouts=one + (None, None), desired_input_layouts=all_ + (None, None)),
            b + "attn.q": ColwiseParallel(), b + "attn.k": ColwiseParallel(), b + "attn.v": ColwiseParallel(),
            b + "attn.out": RowwiseParallel(output_layouts=Shard(1)),
            b + "mlp": PrepareModuleInput(input_layouts=one, desired_input_layouts=all_),
            b + "mlp.up": ColwiseParallel(), b + "mlp.down": RowwiseParallel(output_layouts=Shard(1))})
    return parallelize_module(model, mesh, plan)


def build(a):
    """The model as this rank has it, and what to call for a step's forward pass."""
    if a.fsdp2:
        model = fill(a, shard(a, blank(a)))
    elif a.pp:
        cut = [a.layers * r // a.world for r in range(a.world + 1)]
        model = fill(a, blank(a, first=cut[a.rank], last=cut[a.rank + 1]))
    else:
        model = fill(a, blank(a))
    if a.tp:
        model = tensor_parallel(a, model)
    call = torch.compile(model) if a.compile else model
    if a.ddp:
        call = torch.nn.parallel.DistributedDataParallel(
            call, device_ids=[a.device.index] if a.device.type == "cuda" else None)
    return model, call


class Batches:
    """Random tokens from pinned host memory. Ranks that work on one sequence together get the same ones."""

    def __init__(self, a):
        self.a = a
        self.random = torch.Generator().manual_seed(a.seed + (0 if a.tp or a.pp else a.rank))

    def next(self):
        a = self.a
        t = torch.randint(a.vocab, (a.batch, a.seq + 1), generator=self.random)
        if a.device.type == "cuda":
            t = t.pin_memory()
        t = t.to(a.device, non_blocking=True)
        return t[:, :-1].contiguous(), t[:, 1:].contiguous()


def finish(model, optimizer):
    with record_function("optimizer"):  # of a pipeline, each stage clips by its own norm
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def plain_step(a, model, call, optimizer):
    def step(x, y):
        with record_function("forward"), autocast(a):
            loss = loss_of(call(x), y)
        with record_function("backward"):
            loss.backward()
        finish(model, optimizer)
        optimizer.zero_grad()
        return loss.detach()
    return step


def pipeline_step(a, model, call, optimizer):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    n = a.batch // a.microbatches
    dtype = torch.bfloat16 if a.precision == "bf16" else torch.float32
    ends = {"in": torch.empty(n, a.seq, dtype=torch.long, device="meta"),
            "between": torch.empty(n, a.seq, a.width, dtype=torch.float32, device="meta", requires_grad=True),
            "out": torch.empty(n, a.seq, a.vocab, dtype=dtype, device="meta", requires_grad=True)}
    stage = PipelineStage(call, a.rank, a.world, a.device, input_args=ends["in" if a.rank == 0 else "between"],
                          output_args=ends["out" if a.rank == a.world - 1 else "between"])
    schedule = Schedule1F1B(stage, a.microbatches, loss_fn=loss_of)

    def step(x, y):
        losses = []
        with record_function("pipeline"), autocast(a):
            if a.rank == 0:
                schedule.step(x)
            elif a.rank == a.world - 1:
                schedule.step(target=y, losses=losses)
            else:
                schedule.step()
        finish(model, optimizer)
        optimizer.zero_grad()
        return torch.stack(losses).mean().detach() if losses else None
    return step


def captured_step(a, step, batches):
    """The whole step as one graph, replayed on buffers of its own."""
    x, y = batches.next()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(x, y)

    def replay(new_x, new_y):
        x.copy_(new_x)
        y.copy_(new_y)
        graph.replay()
        return loss
    return replay


def prepare(a, batches):
    model, call = build(a)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, capturable=a.graphs == "step")
    if a.graphs == "callables":
        with autocast(a):
            call = torch.cuda.make_graphed_callables(call, (batches.next()[0],))
    step = (pipeline_step if a.pp else plain_step)(a, model, call, optimizer)
    return model, captured_step(a, step, batches) if a.graphs == "step" else step


def profiler(a):
    if not a.profile:
        return None
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if a.device.type == "cuda":
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    return torch.profiler.profile(activities=kinds)


def run(a):
    batches = Batches(a)
    model, step = prepare(a, batches)
    profile, last, begin, timed = profiler(a), a.world - 1 if a.pp else 0, None, 0
    for i in range(a.steps):
        if profile and i == max(0, a.steps - 3):
            profile.start()
        with record_function("step"):
            loss = step(*batches.next())
        if a.log_every and a.rank == last and ((i + 1) % a.log_every == 0 or i + 1 == a.steps):
            print("step %d loss %.6g" % (i + 1, loss.item()), flush=True)
        if i == min(2, a.steps - 1):  # what comes before is start-up
            sync(a)
            begin, timed = time.perf_counter(), a.steps - 1 - i
    sync(a)
    seconds = time.perf_counter() - begin
    if profile:
        profile.stop()
        if a.rank == 0:
            profile.export_chrome_trace(a.profile)
    return model, seconds, timed


def sync(a):
    if a.device.type == "cuda":
        torch.cuda.synchronize()


def summary(a, model, seconds, timed):
    here = sum(p.numel() for p in model.parameters())
    replicas = 1 if a.tp or a.pp else a.world
    tokens = a.batch * a.seq * replicas
    how = next((k for k in ("ddp", "fsdp2", "tp", "pp") if getattr(a, k)), "one process")
    if a.rank == 0:
        print("%d steps, %s, %s%s%s, %d rank%s" % (
            a.steps, how, a.precision, ", graph of the " + a.graphs if a.graphs else "",
            ", compiled" if a.compile else "", a.world, "s"[:a.world > 1]))
        print("%s: %d layers, width %d, %d parameters%s, %d tokens a step" % (
            a.size, a.layers, a.width, here, " in the first stage" if a.pp else "", tokens))
        if a.device.type == "cuda":
            print("peak memory allocated: %d bytes" % torch.cuda.max_memory_allocated())
        if timed:
            rate = tokens * timed / seconds
            flops = flops_per_token(a.layers, a.width, a.vocab, a.seq) * rate / a.world
            print("%.1f ms a step, %.0f tokens/s, %.2f model TFLOP/s a rank (%s)" % (
                1e3 * seconds / timed, rate, flops / 1e12,
                torch.cuda.get_device_name() if a.device.type == "cuda" else "cpu"), file=sys.stderr)


def main():
    a = arguments()
    start(a)
    try:
        summary(a, *run(a))
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
