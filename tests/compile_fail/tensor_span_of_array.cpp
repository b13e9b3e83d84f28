// SPDX-License-Identifier: BSD-3-Clause
// A span views a tensor; build_on makes one of an array that the caller keeps.
// says: keep t = build_on\(no_owner\{\}, describe\(array\)\)
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/tensor.hpp>

#include <vector>

void use(std::vector<float>& array) {
#ifdef WRONG
  dlbridge::tensor_span<float> const span(array);
#else
  auto const t = dlbridge::build_on(dlbridge::no_owner{}, dlbridge::describe(array));
  dlbridge::tensor_span<float> const span(t);
#endif
  static_cast<void>(span);
}
