// SPDX-License-Identifier: BSD-3-Clause
// A floating-point index would be truncated to an integer.
// says: an index is an integer
#include <dlbridge/tensor.hpp>

float use(dlbridge::tensor_span<float, dlbridge::shape<dlbridge::dynamic_extent>> x) {
#ifdef WRONG
  return x(1.0);
#else
  return x(1);
#endif
}
