// SPDX-License-Identifier: BSD-3-Clause
// The elements of a std::array move with it.
// says: a view, a std::array or a deleter does not
#include <dlbridge/dlbridge.hpp>

#include <array>
#include <memory>
#include <utility>

dlbridge::managed_tensor use(std::array<float, 3> numbers) {
#ifdef WRONG
  auto const memory = dlbridge::description::of(numbers.data(), {3});
  return dlbridge::build_on(std::move(numbers), memory);
#else
  auto kept = std::make_unique<std::array<float, 3> >(numbers);
  auto const memory = dlbridge::description::of(kept->data(), {3});
  return dlbridge::build_on(std::move(kept), memory);
#endif
}
