// SPDX-License-Identifier: BSD-3-Clause
// Indexing takes one index for each dimension.
// says: one index for each dimension
#include <dlbridge/tensor.hpp>

float use(dlbridge::tensor_span<float, dlbridge::shape<dlbridge::dynamic_extent, 3>> x) {
#ifdef WRONG
  return x(1);
#else
  return x(1, 2);
#endif
}
