// SPDX-License-Identifier: BSD-3-Clause
// The elements of a temporary tensor would dangle.
// says: dangles: keep it in a variable
#include <dlbridge/tensor.hpp>

dlbridge::tensor<float> make();

void use() {
  dlbridge::tensor<float> const owner = make();
#ifdef WRONG
  float* const data = make().data();
#else
  float* const data = owner.data();
#endif
  static_cast<void>(data);
}
