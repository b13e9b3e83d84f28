// SPDX-License-Identifier: BSD-3-Clause
// Two integers would be one extent and one stride.
// says: extents are one list. Write {rows, columns}
#include <dlbridge/bridges/std.hpp>

#include <memory>
#include <utility>

auto use(std::unique_ptr<float[]> owner) {
#ifdef WRONG
  return dlbridge::with_shape(std::move(owner), 2, 3);
#else
  return dlbridge::with_shape(std::move(owner), {2, 3});
#endif
}
