// SPDX-License-Identifier: BSD-3-Clause
// The second of two translation units that include every header without Python.
#define I 1  // as <complex.h> of C does
#include <dlbridge/dlbridge.hpp>
#include <dlbridge/runtime.hpp>

double sum_in_b(dlbridge::managed_tensor tensor) {
  dlbridge::tensor<double const, dlbridge::shape<3>> const t{std::move(tensor)};
  return t(0) + t(1) + t(2);
}
