// SPDX-License-Identifier: BSD-3-Clause
// The span of a temporary tensor would dangle.
// says: dangles: keep it in a variable
#include <dlbridge/tensor.hpp>

dlbridge::tensor<float> make();

void use() {
  dlbridge::tensor<float> const owner = make();
#ifdef WRONG
  dlbridge::tensor_span<float> const span = make().span();
#else
  dlbridge::tensor_span<float> const span = owner.span();
#endif
  static_cast<void>(span);
}
