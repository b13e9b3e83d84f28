# SPDX-License-Identifier: BSD-3-Clause
"""Trains a linear model with a step in C++, and compares the cost of a call of each binding.

python train.py [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

Step = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, float, float], None]
RATE, MOMENTUM, STEPS, ROUNDS = 0.05, 0.9, 10_000, 21


def dispatched_step() -> Step:
    """The operator of with_dispatcher, a library that is no Python module."""
    (folder,) = importlib.util.find_spec("training_loop").submodule_search_locations
    (library,) = Path(folder).glob("with_dispatcher.*so")
    torch.ops.load_library(str(library))
    return torch.ops.training_loop.step.default


def step_of_operators(weights, gradient, velocity, rate, momentum):
    velocity.mul_(momentum).add_(gradient)
    weights.add_(velocity, alpha=-rate)


def bindings() -> dict[str, Step]:
    ours = importlib.import_module("training_loop.with_dlbridge")
    return {
        "torch/extension.h": importlib.import_module("training_loop.with_torch").step,
        "TORCH_LIBRARY": dispatched_step(),
        "dlbridge def": ours.step,
        "dlbridge def_fast": ours.step_fast,
        "three operators of PyTorch": step_of_operators,
    }


REFERENCE = "torch/extension.h"


def problem() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(64, 16, generator=generator)
    return inputs, inputs @ torch.arange(16.0)


def train(step: Step, steps: int = STEPS) -> torch.Tensor:
    """The weights after gradient descent on the mean square error."""
    inputs, targets = problem()
    weights, velocity = torch.zeros(16), torch.zeros(16)
    for _ in range(steps):
        gradient = inputs.T @ (inputs @ weights - targets) * (2 / len(inputs))
        step(weights, gradient, velocity, RATE, MOMENTUM)
    return weights


def nanoseconds_per_call(step: Step) -> float:
    weights, gradient, velocity = torch.zeros(16), torch.zeros(16), torch.zeros(16)
    begin = time.perf_counter_ns()
    for _ in range(STEPS):
        step(weights, gradient, velocity, RATE, MOMENTUM)
    return (time.perf_counter_ns() - begin) / STEPS


def interleaved(measure: Callable[[Step], float], rounds: int) -> dict[str, dict[str, float]]:
    """Measures each binding once in every round, in alternating order. A ratio is the median of the
    ratios of the rounds to the reference."""
    steps = bindings()
    found: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name in [*steps] if number % 2 else reversed([*steps]):
            value = measure(steps[name])
            if number > 0:  # the first round fills caches
                found[name].append(value)
    return {
        name: {
            "median": statistics.median(values),
            "ratio": statistics.median(a / b for a, b in zip(values, found[REFERENCE])),
        }
        for name, values in found.items()
    }


def seconds_of_training(step: Step) -> float:
    begin = time.perf_counter()
    train(step)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    gc.disable()
    calls = interleaved(nanoseconds_per_call, chosen.rounds)
    training = interleaved(seconds_of_training, max(1, chosen.rounds // 4))
    print(f"{'':28}{'a call':>12}{'ratio':>8}{'training':>12}{'ratio':>8}")
    for name in calls:
        call, whole = calls[name], training[name]
        print(f"{name:28}{call['median']:9.0f} ns{call['ratio']:8.2f}"
              f"{whole['median']:10.3f} s{whole['ratio']:8.2f}")  # fmt: skip
    if chosen.json:
        chosen.json.write_text(json.dumps({"calls": calls, "training": training}, indent=1))


if __name__ == "__main__":
    main()
