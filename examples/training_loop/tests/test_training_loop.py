# SPDX-License-Identifier: BSD-3-Clause
"""Every binding trains as torch.optim.SGD does; the program prints a row for each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import train

PROGRAM = Path(__file__).resolve().parents[1] / "train.py"
BINDINGS = train.bindings()


def weights_of_torch(steps):
    inputs, targets = train.problem()
    weights = torch.zeros(16, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=train.RATE, momentum=train.MOMENTUM)
    for _ in range(steps):
        optimizer.zero_grad()
        ((inputs @ weights - targets) ** 2).mean().backward()
        optimizer.step()
    return weights.detach()


@pytest.mark.parametrize("name", BINDINGS)
def test_training(name):
    torch.testing.assert_close(train.train(BINDINGS[name], 50), weights_of_torch(50))
    torch.testing.assert_close(train.train(BINDINGS[name], 1000), torch.arange(16.0))


@pytest.mark.parametrize("name", [each for each in BINDINGS if "operators" not in each])
def test_the_bindings_refuse_the_same(name):
    good = torch.zeros(16)
    for wrong in (
        torch.zeros(8),
        torch.zeros(16).double(),
        torch.zeros(4, 4),
        torch.zeros(32)[::2],
    ):
        with pytest.raises((TypeError, RuntimeError)):
            BINDINGS[name](good, wrong, good, 0.1, 0.9)


def test_the_program():
    command = [sys.executable, PROGRAM, "--rounds=1"]
    lines = subprocess.check_output(command, text=True).splitlines()
    assert len(lines) == 1 + len(BINDINGS)
    assert all(line.count(" ns") == line.count(" s ") == 1 for line in lines[1:])
