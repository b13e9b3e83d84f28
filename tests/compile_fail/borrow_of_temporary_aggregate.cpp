// SPDX-License-Identifier: BSD-3-Clause
// A temporary class that contains its elements is no view, although its data() is const.
// says: borrow does not keep a container alive
#include <dlbridge/bridges/std.hpp>

#include <cstddef>

struct color {
  float elements[3];
  float const* data() const { return elements; }
  std::size_t size() const { return 3; }
};

void use() {
  color const red{{1, 0, 0}};
#ifdef WRONG
  dlbridge::borrow(color{{1, 0, 0}});
#else
  dlbridge::borrow(red);
#endif
}
