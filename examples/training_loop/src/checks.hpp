// The same requirements as those of with_dlbridge.cpp, for the extensions with PyTorch's C++ API.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "momentum.hpp"

inline void check_vector(at::Tensor const& t, char const* name, at::Tensor const& like) {
  TORCH_CHECK(t.scalar_type() == at::kFloat && t.dim() == 1 && t.is_contiguous() && t.is_cpu(),
              name, ": expected a contiguous float32 vector on the CPU");
  TORCH_CHECK(t.numel() == like.numel(), name, ": expected the length of weights");
}

inline void step(at::Tensor weights, at::Tensor const& gradient, at::Tensor velocity, double rate,
                 double momentum) {
  check_vector(weights, "weights", weights);
  check_vector(gradient, "gradient", weights);
  check_vector(velocity, "velocity", weights);
  momentum_step(weights.mutable_data_ptr<float>(), gradient.const_data_ptr<float>(),
                velocity.mutable_data_ptr<float>(), weights.numel(), static_cast<float>(rate),
                static_cast<float>(momentum));
}
