// SPDX-License-Identifier: BSD-3-Clause
// build calls describe during a transfer of ownership, so describe must not throw.
// says: array_traits<T>::describe must be noexcept, and take T& or T const&
#include <dlbridge/build.hpp>

#ifdef WRONG
#define SPECIFIER
#else
#define SPECIFIER noexcept
#endif

struct array {};
template <>
struct dlbridge::array_traits<array> {
  static description describe(array&) SPECIFIER { return description::of_nothing(); }
};

dlbridge::managed_tensor use() { return dlbridge::build(array()); }
