// SPDX-License-Identifier: BSD-3-Clause
// An array type is imported by the adopt of its array_traits.
// says: array_traits of this type has no adopt, which imports a tensor. Add static T adopt
#include <dlbridge/array_traits.hpp>
#include <dlbridge/managed_tensor.hpp>

#include <utility>

struct exported {
  float* data;
};
struct imported {
  dlbridge::managed_tensor owner;
};
template <>
struct dlbridge::array_traits<exported> {
  static description describe(exported& e) noexcept { return description::of(e.data, {3}); }
};
template <>
struct dlbridge::array_traits<imported> {
  static imported adopt(managed_tensor&& m) { return {std::move(m)}; }
};

#ifdef WRONG
using array = exported;
#else
using array = imported;
#endif

void use(dlbridge::managed_tensor m) { static_cast<void>(dlbridge::adopt_as<array>(std::move(m))); }
