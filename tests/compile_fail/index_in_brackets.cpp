// SPDX-License-Identifier: BSD-3-Clause
// Brackets would have one index only, before C++23.
// says: write x\(i, j\), or x.at\(i, j\)
#include <dlbridge/tensor.hpp>

float use(dlbridge::tensor_span<float const, dlbridge::shape<3>> x) {
#ifdef WRONG
  return x[0];
#else
  return x(0);
#endif
}
