# SPDX-License-Identifier: BSD-3-Clause
"""Calls the function, and differentiates it, in PyTorch and in a compiled program of JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import torch
from soft_threshold import for_jax, for_torch

VALUES, LEVEL = [-2.0, 0.25, 1.5], 0.5

x = torch.tensor(VALUES, requires_grad=True)
y = for_torch.soft_threshold(x, LEVEL)
(y**2).sum().backward()
print(f"PyTorch: {y.tolist()}, gradient of the squares {x.grad.tolist()}")

program = jax.jit(lambda x: for_jax.soft_threshold(x, LEVEL))
gradient = jax.jit(jax.grad(lambda x: (for_jax.soft_threshold(x, LEVEL) ** 2).sum()))
a = jnp.array(VALUES)
print(f"JAX:     {program(a).tolist()}, gradient of the squares {gradient(a).tolist()}")
