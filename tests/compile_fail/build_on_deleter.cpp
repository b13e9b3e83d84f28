// SPDX-License-Identifier: BSD-3-Clause
// A deleter that nothing calls frees nothing.
// says: the destructor of the owner frees the memory
#include <dlbridge/dlbridge.hpp>
#include <memory>

dlbridge::managed_tensor use(float* numbers) {
  auto const memory = dlbridge::description::of(numbers, {3});
#ifdef WRONG
  return dlbridge::build_on([numbers] { delete[] numbers; }, memory);
#else
  return dlbridge::build_on(std::unique_ptr<float[]>(numbers), memory);
#endif
}
