#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT on random tokens with JAX: the whole step is one compiled program, on one device or data parallel.

Losses go to standard output, times to standard error. The number of steps is fixed beforehand and no branch depends on
a value from the device, so that it also ends where device results are not real numbers (the simulated CUDA computes
nothing). See README.md.
"""
import argparse
import os
import sys
import time

SIZES = {  # layers, width, heads, vocabulary, tokens of a sequence, sequences of a step
    "tiny": (2, 256, 4, 2048, 128, 8),
    "124m": (12, 768, 12, 50304, 1024, 8),
}


def arguments():
    p = argparse.ArgumentParser(description="Trains a GPT on random tokens with JAX.")
    p.add_argument("--size", choices=SIZES, default="tiny")
    p.add_argument("--steps", type=int, default=20, help="how many (default 20)")
    p.add_argument("--batch", type=int, help="sequences per step, of all devices together (default: by size)")
    p.add_argument("--seq", type=int, help="tokens per sequence (default: by size)")
    p.add_argument("--precision", choices=("fp32", "bf16"), default="bf16", help="of products; weights are fp32")
    p.add_argument("--recompute", action="store_true", help="jax.checkpoint of each block")
    p.add_argument("--data-parallel", action="store_true", help="over all devices, gradients all-reduced")
    p.add_argument("--no-donate", action="store_true", help="keep the old state while the new one is made")
    p.add_argument("--log-every", type=int, default=10, metavar="N", help="wait for the loss every N steps")
    p.add_argument("--profile", metavar="FOLDER", help="jax.profiler over the last 3 steps")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    a.layers, a.width, a.heads, a.vocab, seq, batch = SIZES[a.size]
    a.seq, a.batch = a.seq or seq, a.batch or batch
    if min(a.steps, a.seq, a.batch, a.log_every) < 1 or a.steps > 100000:
        p.error("--steps is 1 to 100000; --seq, --batch and --log-every are at least 1")
    return a


a = arguments()  # before JAX is imported: a wrong option takes no seconds
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

COMPUTE = {"fp32": jnp.float32, "bf16": jnp.bfloat16}[a.precision]


def weights():
    random = np.random.default_rng(a.seed)

    def matrix(*shape):
        return (random.standard_normal(shape) * 0.02).astype(np.float32)

    def block():
        w = a.width
        return {"qkv": matrix(w, 3 * w), "out": matrix(w, w), "up": matrix(w, 4 * w), "down": matrix(4 * w, w),
                "norm1": np.ones(w, np.float32), "norm2": np.ones(w, np.float32)}

    return {"token": matrix(a.vocab, a.width), "place": matrix(a.seq, a.width), "norm": np.ones(a.width, np.float32),
            "blocks": [block() for _ in range(a.layers)]}


def norm(x, scale):
    y = x.astype(jnp.float32)
    y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
    return (y * scale).astype(x.dtype)


def product(x, w):
    return x.astype(COMPUTE) @ w.astype(COMPUTE)


# named_scope puts the parts of the model into each instruction's path: what the report calls modules.
def attention(x, p):
    with jax.named_scope("attention"):
        b, t, w = x.shape
        q, k, v = (y.reshape(b, t, a.heads, w // a.heads) for y in jnp.split(product(x, p["qkv"]), 3, -1))
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return product(y.reshape(b, t, w), p["out"])


def mlp(x, p):
    with jax.named_scope("mlp"):
        return product(jax.nn.gelu(product(x, p["up"])), p["down"])


def block(x, p):
    x = x + attention(norm(x, p["norm1"]), p)
    return x + mlp(norm(x, p["norm2"]), p)


def loss_of(params, tokens):
    one = jax.checkpoint(block) if a.recompute else block
    with jax.named_scope("embedding"):
        x = (params["token"][tokens[:, :-1]] + params["place"]).astype(COMPUTE)
    for i, p in enumerate(params["blocks"]):
        with jax.named_scope("block%d" % i):
            x = one(x, p)
    with jax.named_scope("head"):
        logits = product(norm(x, params["norm"]), params["token"].T).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()


def train_step(state, tokens):
    params, m, v, n = state
    loss, grads = jax.value_and_grad(loss_of)(params, tokens)
    with jax.named_scope("adam"):
        n = n + 1
        m = jax.tree.map(lambda x, g: 0.9 * x + 0.1 * g, m, grads)
        v = jax.tree.map(lambda x, g: 0.95 * x + 0.05 * g * g, v, grads)
        scale = 3e-4 * jnp.sqrt(1 - 0.95 ** n) / (1 - 0.9 ** n)
        params = jax.tree.map(lambda p, x, y: p - scale * x / (jnp.sqrt(y) + 1e-8), params, m, v)
    return (params, m, v, n), loss


def place():
    """Where state and tokens live: on one device, or the state on each and the tokens shared out."""
    devices = np.array(jax.devices() if a.data_parallel else jax.devices()[:1])
    if a.batch % len(devices):
        sys.exit("train_jax.py: --batch %d is not divisible by %d devices" % (a.batch, len(devices)))
    mesh = jax.sharding.Mesh(devices, ("data",))
    return NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))


def main():
    everywhere, shared = place()
    params = jax.device_put(weights(), everywhere)
    zeros = jax.tree.map(lambda x: np.zeros(x.shape, np.float32), params)
    # Copies of their own: donated buffers must not be shared. All of it is placed as the step returns it, or the second
    # step would be compiled anew.
    state = params, *(jax.device_put(x, everywhere) for x in (zeros, zeros, np.zeros((), np.float32)))
    del params, zeros
    step = jax.jit(train_step, donate_argnums=() if a.no_donate else 0)
    random = np.random.default_rng(a.seed + 1)
    logged = begin = time.perf_counter()
    since = 0
    for n in range(a.steps):
        if a.profile and n == max(a.steps - 3, 0):
            jax.block_until_ready(state)
            jax.profiler.start_trace(a.profile)
        tokens = jax.device_put(random.integers(0, a.vocab, (a.batch, a.seq + 1), np.int32), shared)
        with jax.profiler.StepTraceAnnotation("train", step_num=n):
            state, loss = step(state, tokens)
        if n == 0:  # compiles
            loss.block_until_ready()
            print("first step %.1f s" % (time.perf_counter() - begin), file=sys.stderr)
            logged, since = time.perf_counter(), n + 1
        elif n % a.log_every == 0 or n == a.steps - 1:
            print("step %d loss %.4f" % (n, float(loss)))
            now = time.perf_counter()
            done, took = n + 1 - since, now - logged
            print("%.3f ms a step, %.0f tokens/s" % (took / done * 1e3, done * a.batch * a.seq / took), file=sys.stderr)
            logged, since = now, n + 1
    jax.block_until_ready(state)
    if a.profile:
        jax.profiler.stop_trace()
    print("done")


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
main()
