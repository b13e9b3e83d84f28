"""The operator of PyTorch, judged by PyTorch's own checks."""

from __future__ import annotations

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
