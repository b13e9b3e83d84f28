// SPDX-License-Identifier: BSD-3-Clause
// Two integers would be one extent and one stride.
// says: extents are one list. Write {rows, columns}
#include <dlbridge/bridges/std.hpp>

auto use(float* data) {
#ifdef WRONG
  return dlbridge::borrow(data, 2, 3);
#else
  return dlbridge::borrow(data, {2, 3});
#endif
}
