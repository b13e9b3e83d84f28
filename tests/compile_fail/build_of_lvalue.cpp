// SPDX-License-Identifier: BSD-3-Clause
// build moves its argument and does not copy an lvalue implicitly.
// says: build takes the array over. Move one that is not const
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

dlbridge::managed_tensor use(std::vector<float> array) {
#ifdef WRONG
  return dlbridge::build(array);
#else
  return dlbridge::build(std::move(array));
#endif
}
