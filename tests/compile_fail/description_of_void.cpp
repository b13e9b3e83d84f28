// SPDX-License-Identifier: BSD-3-Clause
// A pointer to void states no element type, from which the dtype follows.
// says: a pointer to void states no element type. Cast it to a pointer to the elements
#include <dlbridge/array_traits.hpp>

#ifdef WRONG
using element = void;
#else
using element = float;
#endif

struct array {
  element* data;
};
template <>
struct dlbridge::array_traits<array> {
  static description describe(array& a) noexcept { return description::of(a.data, {3}); }
};
