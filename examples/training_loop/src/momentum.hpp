// A step of gradient descent with momentum, as torch.optim.SGD makes it. Every extension binds this
// function.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

inline void momentum_step(float* weights, float const* gradient, float* velocity,
                          std::int64_t count, float rate, float momentum) {
  for (std::int64_t i = 0; i < count; ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    weights[i] -= rate * velocity[i];
  }
}
