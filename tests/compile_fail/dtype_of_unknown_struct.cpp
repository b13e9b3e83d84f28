// SPDX-License-Identifier: BSD-3-Clause
// The error for an element type without a dtype names the template to specialize.
// says: this element type has no DLPack dtype. Specialise dlbridge::dtype_traits<T>
#include <dlbridge/dtype.hpp>

struct unknown {};
struct half {
  unsigned short bits;
};
template <>
struct dlbridge::dtype_traits<half> {
  static constexpr dtype value{kDLFloat, 16};
};

#ifdef WRONG
using element = unknown;
#else
using element = half;
#endif

constexpr dlbridge::dtype type = dlbridge::dtype_of<element>();
