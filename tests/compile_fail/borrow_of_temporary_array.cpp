// SPDX-License-Identifier: BSD-3-Clause
// A temporary std::array is trivially copyable like a view, but owns its elements.
// says: borrow does not keep a container alive
#include <dlbridge/bridges/std.hpp>

std::array<float const, 3> make();

void use() {
  std::array<float const, 3> const elements = make();
#ifdef WRONG
  dlbridge::borrow(make());
#else
  dlbridge::borrow(elements);
#endif
}
