// SPDX-License-Identifier: BSD-3-Clause
// The step as an operator of PyTorch's dispatcher, torch.ops.training_loop.step.
#include <torch/library.h>

#include "checks.hpp"

TORCH_LIBRARY(training_loop, m) {
  m.def(
      "step(Tensor(a!) weights, Tensor gradient, Tensor(b!) velocity, float rate, float momentum)"
      " -> ()");
}

TORCH_LIBRARY_IMPL(training_loop, CPU, m) { m.impl("step", &step); }
