# SPDX-License-Identifier: Apache-2.0
"""A profile of JAX on the CPU: five steps of a small gradient.

usage: xplane_jax.py FOLDER
"""
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

grad = jax.jit(jax.grad(lambda w, x: jnp.tanh(x @ w).sum()))
w, x = jnp.ones((256, 256)), jnp.ones((64, 256))
grad(w, x).block_until_ready()
jax.profiler.start_trace(sys.argv[1])
for i in range(5):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        grad(w, x).block_until_ready()
jax.profiler.stop_trace()
