// SPDX-License-Identifier: BSD-3-Clause
// A pointer owns nothing.
// says: the destructor of the owner frees the memory
#include <dlbridge/dlbridge.hpp>

dlbridge::managed_tensor use(float* numbers) {
  auto const memory = dlbridge::description::of(numbers, {3});
#ifdef WRONG
  return dlbridge::build_on(static_cast<float*>(numbers), memory);
#else
  return dlbridge::build_on(dlbridge::no_owner{}, memory);
#endif
}
