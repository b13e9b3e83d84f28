// SPDX-License-Identifier: BSD-3-Clause
// The elements of a temporary result would dangle.
// says: dangles: keep it in a variable
#include <dlbridge/pybind11.hpp>

float* use(dlbridge::argument<float>& kept) {
#ifdef WRONG
  return kept.empty_like().data();
#else
  kept = kept.empty_like();
  return kept.data();
#endif
}
