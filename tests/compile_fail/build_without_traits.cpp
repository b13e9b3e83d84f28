// SPDX-License-Identifier: BSD-3-Clause
// The error for a type without array_traits names the template to specialize.
// says: this type is not described to DLPack. Specialise dlbridge::array_traits<T>
#include <dlbridge/build.hpp>

struct without_traits {};
struct with_traits {};
template <>
struct dlbridge::array_traits<with_traits> {
  static description describe(with_traits&) noexcept { return description::of_nothing(); }
};

#ifdef WRONG
using array = without_traits;
#else
using array = with_traits;
#endif

dlbridge::managed_tensor use() { return dlbridge::build(array()); }
