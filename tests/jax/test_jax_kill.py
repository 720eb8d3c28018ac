# SPDX-License-Identifier: Apache-2.0
"""Steps of a small network until somebody kills it.

usage: test_jax_kill.py FILE     FILE is made when STEPS are done and their records had time to be written
"""
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 100


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

    def steps(number):
        nonlocal weights
        for _ in range(number):
            weights, value = network_step(weights, x)
            value.block_until_ready()

    steps(STEPS)
    time.sleep(3)
    open(sys.argv[1], "w").close()
    while True:
        steps(STEPS)


main()
