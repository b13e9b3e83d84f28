# SPDX-License-Identifier: BSD-3-Clause
"""The function of JAX, compared with the same in JAX's own operations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from soft_threshold import _core
from soft_threshold.for_jax import soft_threshold

LEVEL = 0.5


def expected(x):
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - LEVEL, 0)


def values(*shape):
    return jax.random.normal(jax.random.key(1), shape)


def test_values_in_a_compiled_program():
    x = values(3, 4)
    program = jax.jit(lambda x: 2 * soft_threshold(x.T, LEVEL))
    np.testing.assert_allclose(program(x), 2 * expected(x).T)


def test_arrays_that_are_larger_than_what_jax_copies_at_once():
    x = values(2000, 1000)
    np.testing.assert_allclose(jax.jit(soft_threshold, static_argnums=1)(x, LEVEL), expected(x))


def test_gradients():
    x = values(3, 4)
    ours = jax.jit(jax.grad(lambda x: (soft_threshold(x, LEVEL) ** 2).sum()))(x)
    theirs = jax.grad(lambda x: (expected(x) ** 2).sum())(x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_vmap():
    x = values(3, 4)
    ours = jax.vmap(lambda row: soft_threshold(row, LEVEL), in_axes=1)(x)
    np.testing.assert_allclose(ours, expected(x).T)


def test_a_wrong_dtype_is_refused_before_the_program_runs():
    program = jax.jit(lambda x: soft_threshold(x, LEVEL))
    with pytest.raises(TypeError, match="expected float32; got int32"):
        program.lower(jnp.ones(3, "int32"))


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad])
def test_the_function_itself_is_refused_while_jax_traces(transform):
    shape = (2, 4) if transform is jax.vmap else (4,)
    with pytest.raises(TypeError, match="argument 'x': ConcretizationTypeError"):
        transform(lambda x: _core.soft_threshold(x, LEVEL))(values(*shape))
