# SPDX-License-Identifier: Apache-2.0
"""A small transformer trained with JAX: jit of value_and_grad and Adam, one executable a step.

usage: test_jax_gpt.py fp32|bf16 STEPS FILE     FILE gets when each step began and ended
"""
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 256, 128, 4, 2, 64, 4


def init(rng, dtype):
    def weight(*shape):
        return jnp.asarray(rng.standard_normal(shape).astype(np.float32) * 0.02, dtype)

    block = lambda: {"qkv": weight(WIDTH, 3 * WIDTH), "out": weight(WIDTH, WIDTH), "up": weight(WIDTH, 4 * WIDTH),
                     "down": weight(4 * WIDTH, WIDTH), "norm1": weight(WIDTH), "norm2": weight(WIDTH)}
    return {"token": weight(VOCABULARY, WIDTH), "place": weight(LENGTH, WIDTH),
            "blocks": [block() for _ in range(LAYERS)]}


def norm(x, scale):
    m = x.mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * (1 + scale)


def block(x, p):
    b, t, d = x.shape
    q, k, v = (y.reshape(b, t, HEADS, d // HEADS).transpose(0, 2, 1, 3)
               for y in jnp.split(norm(x, p["norm1"]) @ p["qkv"], 3, -1))
    score = (q @ k.swapaxes(-1, -2)).astype(jnp.float32) / np.sqrt(d // HEADS)
    score = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), score, -1e9)).astype(x.dtype)
    x = x + (score @ v).transpose(0, 2, 1, 3).reshape(b, t, d) @ p["out"]
    return x + jax.nn.gelu(norm(x, p["norm2"]) @ p["up"]) @ p["down"]


def loss_of(p, tokens):
    x = p["token"][tokens[:, :-1]] + p["place"]
    for b in p["blocks"]:
        x = block(x, b)
    logits = (x @ p["token"].T).astype(jnp.float32)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()


@jax.jit
def train_step(state, tokens):
    p, m, v, n = state
    loss, g = jax.value_and_grad(loss_of)(p, tokens)
    n = n + 1
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
    p = jax.tree.map(lambda a, b, c: (a - 1e-3 * b / (jnp.sqrt(c) + 1e-8)).astype(a.dtype), p, m, v)
    return (p, m, v, n), loss


def main():
    dtype, steps, path = {"fp32": jnp.float32, "bf16": jnp.bfloat16}[sys.argv[1]], int(sys.argv[2]), sys.argv[3]
    print("devices", len(jax.devices()), jax.devices()[0].platform)
    rng = np.random.default_rng(0)
    p = init(rng, dtype)
    state = p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.zeros((), jnp.int32)
    with open(path, "w") as f:
        for _ in range(steps):
            begin = time.time_ns()
            tokens = jax.device_put(rng.integers(0, VOCABULARY, (BATCH, LENGTH + 1), np.int32))
            state, loss = train_step(state, tokens)
            loss.block_until_ready()
            f.write("%d %d\n" % (begin, time.time_ns()))
    x = np.arange(100000, dtype=np.float32)
    print("round trip", bool((np.asarray(jax.device_put(x)) == x).all()))
    print("done")


main()
