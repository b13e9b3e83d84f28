// SPDX-License-Identifier: BSD-3-Clause
// An element type whose dtype has another size.
// says: an element of dtype_traits<T>::value has another size than T
#include <dlbridge/dtype.hpp>

#ifdef WRONG
using storage = float;
#else
using storage = unsigned short;
#endif

struct half {
  storage bits;
};
template <>
struct dlbridge::dtype_traits<half> {
  static constexpr dtype value{kDLFloat, 16};
};

constexpr dlbridge::dtype type = dlbridge::dtype_of<half>();
