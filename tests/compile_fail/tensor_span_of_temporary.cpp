// SPDX-License-Identifier: BSD-3-Clause
// A tensor_span of a temporary owner would dangle.
// says: dangles: keep it in a variable
#include <dlbridge/tensor.hpp>

dlbridge::managed_tensor make();

void use() {
  dlbridge::managed_tensor const owner = make();
#ifdef WRONG
  dlbridge::tensor_span<float const> const span(make());
#else
  dlbridge::tensor_span<float const> const span(owner);
#endif
  static_cast<void>(span);
}
