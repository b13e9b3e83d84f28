// SPDX-License-Identifier: BSD-3-Clause
// A smart pointer to elements does not know how many there are.
// says: a pointer to elements has no shape; with_shape
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#include <memory>
#include <utility>

void use(std::shared_ptr<float[]> elements) {
#ifdef WRONG
  static_cast<void>(dlbridge::build(std::move(elements)));
#else
  static_cast<void>(dlbridge::build(dlbridge::with_shape(std::move(elements), {2, 3})));
#endif
}
