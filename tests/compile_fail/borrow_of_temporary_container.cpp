// SPDX-License-Identifier: BSD-3-Clause
// A temporary container frees its elements before a consumer reads them.
// says: borrow does not keep a container alive
#include <dlbridge/bridges/std.hpp>

std::vector<float> make();

void use() {
  std::vector<float> elements = make();
#ifdef WRONG
  dlbridge::borrow(make());
#else
  dlbridge::borrow(elements);
#endif
}
