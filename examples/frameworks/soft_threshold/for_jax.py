# SPDX-License-Identifier: BSD-3-Clause
"""The soft threshold as a function of JAX: jit, grad and vmap."""

from __future__ import annotations

# [callback]
from functools import partial

import jax
import numpy as np

from soft_threshold import _core


def call(function, like, *arrays, level):
    """Calls a function of _core while a compiled program runs, on the host."""
    if like.dtype != np.float32:  # while JAX traces the program: a callback must not raise
        raise TypeError(f"expected float32; got {like.dtype}")

    def on_host(*inputs):
        flat = [np.asarray(each).reshape(-1) for each in inputs]
        return function(*flat, level).reshape(inputs[0].shape)

    result = jax.ShapeDtypeStruct(like.shape, like.dtype)
    return jax.pure_callback(on_host, result, *arrays, vmap_method="broadcast_all")


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def soft_threshold(x: jax.Array, level: float) -> jax.Array:
    return call(_core.soft_threshold, x, x, level=level)


# [/callback]


# [derivative]
def forward(x, level):
    return soft_threshold(x, level), x


def backward(level, x, slope):
    return (call(_core.soft_threshold_gradient, x, x, slope, level=level),)


soft_threshold.defvjp(forward, backward)
# [/derivative]
