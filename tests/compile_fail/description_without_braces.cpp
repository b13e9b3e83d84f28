// SPDX-License-Identifier: BSD-3-Clause
// Two integers would be one extent and one stride.
// says: extents are one list. Write {rows, columns}
#include <dlbridge/array_traits.hpp>

auto use(float* data) {
#ifdef WRONG
  return dlbridge::description::of(data, 2, 3);
#else
  return dlbridge::description::of(data, {2, 3});
#endif
}
