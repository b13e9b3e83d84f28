# SPDX-License-Identifier: BSD-3-Clause
"""The soft threshold as an operator of PyTorch: autograd, torch.compile and torch.func."""

from __future__ import annotations

from typing import Any

# [operator]
import torch

from soft_threshold import _core


@torch.library.custom_op("soft_threshold::forward", mutates_args=(), device_types="cpu")
def soft_threshold(x: torch.Tensor, level: float) -> torch.Tensor:
    return _core.soft_threshold(x.reshape(-1), level).reshape(x.shape)


@torch.library.custom_op("soft_threshold::backward", mutates_args=(), device_types="cpu")
def gradient(x: torch.Tensor, slope: torch.Tensor, level: float) -> torch.Tensor:
    return _core.soft_threshold_gradient(x.reshape(-1), slope.reshape(-1), level).reshape(x.shape)


# The shape, dtype and layout of the result, for tensors without memory: torch.compile.
@soft_threshold.register_fake
def _(x: torch.Tensor, level: float) -> torch.Tensor:
    return x.new_empty(x.shape)


@gradient.register_fake
def _(x: torch.Tensor, slope: torch.Tensor, level: float) -> torch.Tensor:
    return x.new_empty(x.shape)


# [/operator]


# [autograd]
def save_inputs(ctx: Any, inputs: tuple[torch.Tensor, float], output: torch.Tensor) -> None:
    x, ctx.level = inputs
    ctx.save_for_backward(x)


def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor, None]:
    (x,) = ctx.saved_tensors
    return gradient(x, slope, ctx.level), None  # for x, and for level


soft_threshold.register_autograd(backward, setup_context=save_inputs)
# [/autograd]


# [vmap]
@soft_threshold.register_vmap
def _(info: Any, dimensions: tuple[int, None], x: torch.Tensor, level: float) -> Any:
    return soft_threshold(x, level), dimensions[0]  # elementwise: one call for the whole batch


# [/vmap]
