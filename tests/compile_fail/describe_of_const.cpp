// SPDX-License-Identifier: BSD-3-Clause
// The describe of array_traits may take a const array as well; otherwise there is none for it.
// says: array_traits of this type has no describe for a const array. Add static description describ
#include <dlbridge/array_traits.hpp>

struct array {};
template <>
struct dlbridge::array_traits<array> {
  static description describe(array&) noexcept { return description::of_nothing(); }
#ifndef WRONG
  static description describe(array const&) noexcept { return description::of_nothing(); }
#endif
};

dlbridge::description use(array const& a) { return dlbridge::describe(a); }
