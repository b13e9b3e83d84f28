// SPDX-License-Identifier: BSD-3-Clause
// An array has its own shape; another one is described with its elements.
// says: with_shape takes a std::unique_ptr<T\[\]> or a std::shared_ptr<T\[\]>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#include <utility>
#include <vector>

dlbridge::managed_tensor use(std::vector<float> numbers) {
#ifdef WRONG
  return dlbridge::build(dlbridge::with_shape(std::move(numbers), {2, 3}));
#else
  float* const first = numbers.data();
  return dlbridge::build_on(std::move(numbers), dlbridge::description::of(first, {2, 3}));
#endif
}
