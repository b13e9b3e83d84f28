// SPDX-License-Identifier: BSD-3-Clause
// Extents are one list.
// says: extents are one list
#include <dlbridge/pybind11.hpp>

std::int64_t use(dlbridge::argument<float> const& x) {
#ifdef WRONG
  return x.empty_like<float>(2, 3).count();
#else
  return x.empty_like<float>({2, 3}).count();
#endif
}
