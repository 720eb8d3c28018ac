# SPDX-License-Identifier: Apache-2.0
"""Steps of a small network, jax.profiler over three of them: after four others or before the first; then four more.

usage: test_jax_profiler.py late|early|never XPLANE_FOLDER STEPS_FILE

STEPS_FILE gets a line a step: when it began and ended, and whether the profiler was on (1).
"""
import contextlib
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

BESIDE, PROFILED = 4, 3


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
    when, folder = sys.argv[1:3]
    out = open(sys.argv[3], "w")
    network = []

    def steps(number, profiled):
        if not network:
            network.extend([[jnp.asarray(np.full((256, 256), 0.01, np.float32)) for _ in range(3)],
                            jnp.asarray(np.ones((64, 256), np.float32))])
        for _ in range(number):
            begin = time.time_ns()
            with jax.profiler.StepTraceAnnotation("train", step_num=steps.number):
                network[0], value = network_step(*network)
                value.block_until_ready()
            out.write("%d %d %d\n" % (begin, time.time_ns(), profiled))
            steps.number += 1

    steps.number = 0
    if when != "early":
        steps(BESIDE, 0)
    with jax.profiler.trace(folder) if when != "never" else contextlib.nullcontext():
        steps(PROFILED, 1)
    time.sleep(2)  # the recorder, which stood back, comes back
    steps(BESIDE, 0)
    out.close()
    print("done")


main()
