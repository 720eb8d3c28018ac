# SPDX-License-Identifier: Apache-2.0
"""A kernel written by hand, in Pallas for Triton and for Mosaic GPU.

usage: test_jax_pallas.py triton|mosaic LAUNCHES
"""
import sys

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double_it(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def triton(x):
    from jax.experimental.pallas import triton as plt

    params = plt.CompilerParams(num_warps=4)
    return pl.pallas_call(double_it, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(4,),
                          in_specs=[pl.BlockSpec((256,), lambda i: (i,))],
                          out_specs=pl.BlockSpec((256,), lambda i: (i,)), compiler_params=params, name="by_triton")(x)


def mosaic(x):
    from jax.experimental.pallas import mosaic_gpu as plgpu

    def by_mosaic(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0

    return plgpu.kernel(by_mosaic, out_type=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def main():
    f = jax.jit({"triton": triton, "mosaic": mosaic}[sys.argv[1]])
    x = jnp.ones((1024,), jnp.float32)
    for _ in range(int(sys.argv[2])):
        y = f(x)
    y.block_until_ready()
    print("done", y.shape)


main()
