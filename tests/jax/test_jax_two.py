# SPDX-License-Identifier: Apache-2.0
"""Two devices: a data-parallel step (gradients all-reduced) and collectives whose results are looked at. In one process
that has both, or in two processes of one device each.

usage: test_jax_two.py STEPS                        both devices in this process
       test_jax_two.py STEPS PORT RANK              one of two processes (jax.distributed)
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P


def main():
    steps = int(sys.argv[1])
    if len(sys.argv) > 2:
        rank = int(sys.argv[3])
        jax.distributed.initialize("localhost:" + sys.argv[2], 2, rank, local_device_ids=[rank])
    mesh = jax.make_mesh((2,), ("data",))
    print("devices", len(jax.devices()), "here", len(jax.local_devices()))

    def spread(x):
        return jax.make_array_from_callback(x.shape, NamedSharding(mesh, P("data")), lambda index: x[index])

    @jax.jit
    @lambda f: jax.shard_map(f, mesh=mesh, in_specs=P("data"), out_specs=P())
    def summed(x):
        return jax.lax.psum(x, "data")

    x = np.arange(262144, dtype=np.float32).reshape(2, 131072)
    total = np.asarray(summed(spread(x)).addressable_shards[0].data)
    print("psum", bool((total[0] == x.sum(0)).all()))

    @jax.jit
    def step(weights, batch):
        def loss(w):
            y = batch
            for a in w:
                y = jnp.tanh(y @ a)
            return (y ** 2).mean()

        value, grads = jax.value_and_grad(loss)(weights)
        return [a - 0.1 * g for a, g in zip(weights, grads)], value

    everywhere = NamedSharding(mesh, P())
    w0 = np.full((256, 256), 0.01, np.float32)
    weights = [jax.make_array_from_callback(w0.shape, everywhere, lambda index: w0[index]) for _ in range(3)]
    batch = spread(np.ones((64, 256), np.float32))
    for _ in range(steps):
        weights, value = step(weights, batch)
        jax.block_until_ready(value)
    print("done")


main()
