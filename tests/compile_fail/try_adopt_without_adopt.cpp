// SPDX-License-Identifier: BSD-3-Clause
// As adopt_without_adopt.cpp, and nothing is printed besides.
// says: ^(?:(?!error)[\s\S])*error: static assertion failed: dlbridge: array_traits of this type
// has no adopt
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/managed_tensor.hpp>

#include <utility>
#include <vector>

#ifdef WRONG
using array = std::vector<float>;
#else
using array = dlbridge::managed_tensor;
#include <dlbridge/build.hpp>
#endif

void use(dlbridge::managed_tensor m, dlbridge::report& why) {
  static_cast<void>(dlbridge::try_adopt_as<array>(std::move(m), why));
}
