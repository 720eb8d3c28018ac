# SPDX-License-Identifier: Apache-2.0
"""jax.profiler over three steps of a small network, with steps before and after.

usage: test_jax_profiler.py XPLANE_FOLDER SESSION_FILE     the second gets when the session began and ended
"""
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 3


@jax.jit
def network_step(weights, x):
    def loss(w):
        y = x
        for a in w:
            y = jnp.tanh(y @ a)
        return (y ** 2).mean()

    value, grads = jax.value_and_grad(loss)(weights)
    return [a - 0.1 * g for a, g in zip(weights, grads)], value


def main():
    weights = [jnp.asarray(np.full((256, 256), 0.01, np.float32)) for _ in range(3)]
    x = jnp.asarray(np.ones((64, 256), np.float32))

    def step(n):
        nonlocal weights
        with jax.profiler.StepTraceAnnotation("train", step_num=n):
            weights, value = network_step(weights, x)
            value.block_until_ready()

    for n in range(2):
        step(n)
    with jax.profiler.trace(sys.argv[1]):
        begin = time.time_ns()
        for n in range(STEPS):
            step(2 + n)
        end = time.time_ns()
    with open(sys.argv[2], "w") as f:
        f.write("%d %d\n" % (begin, end))
    for n in range(2):
        step(2 + STEPS + n)
    print("done")


main()
