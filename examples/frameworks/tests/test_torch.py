# SPDX-License-Identifier: BSD-3-Clause
"""The operator of PyTorch, judged by PyTorch's own checks."""

from __future__ import annotations

import pytest
import soft_threshold
import torch
from soft_threshold import for_torch

LEVEL = 0.5


def expected(x):
    return torch.nn.functional.softshrink(x, LEVEL)


def values(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def test_values_also_of_strided_tensors():
    x = values(4, 6).t()[::2]
    torch.testing.assert_close(for_torch.soft_threshold(x, LEVEL), expected(x))


def test_pytorchs_checks_of_operators():
    x = values(3, 4).requires_grad_()
    torch.library.opcheck(for_torch.soft_threshold, (x, LEVEL))
    torch.library.opcheck(for_torch.gradient, (values(3, 4), values(3, 4), LEVEL))


def test_gradients():
    x = values(3, 4).requires_grad_()
    slope = values(4, 3).t()
    (ours,) = torch.autograd.grad(for_torch.soft_threshold(x, LEVEL), x, slope)
    (theirs,) = torch.autograd.grad(expected(x), x, slope)
    torch.testing.assert_close(ours, theirs)


def test_compiled_without_a_graph_break():
    def loss(x):
        return (2 * for_torch.soft_threshold(x, LEVEL)).sum()

    x = values(3, 4).requires_grad_()
    torch.compile(loss, fullgraph=True, backend="aot_eager")(x).backward()
    ours = x.grad
    x.grad = None
    (2 * expected(x)).sum().backward()
    torch.testing.assert_close(ours, x.grad)


def test_vmap():
    x = values(3, 4)
    batched = torch.func.vmap(lambda row: for_torch.soft_threshold(row, LEVEL), in_dims=1)
    torch.testing.assert_close(batched(x), expected(x).t())


def plain(x):
    return soft_threshold.soft_threshold(x, LEVEL)


def test_the_function_itself_is_outside_of_autograd_and_transforms():
    assert not plain(values(4).requires_grad_()).requires_grad
    with pytest.raises(TypeError, match="argument 'x'"):
        torch.func.vmap(plain)(values(3, 4))
    with pytest.raises(TypeError, match="argument 'x'"):
        torch.func.grad(lambda x: plain(x).sum())(values(4))


@pytest.mark.filterwarnings("default:Dynamo does not know")
def test_the_function_itself_breaks_a_compiled_graph():
    with pytest.warns(UserWarning, match="Dynamo does not know how to trace"):
        result = torch.compile(plain, backend="aot_eager")(values(4))
    torch.testing.assert_close(result, expected(values(4)))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Dynamo does not know how to trace"):
        torch.compile(plain, fullgraph=True, backend="aot_eager")(values(4))
