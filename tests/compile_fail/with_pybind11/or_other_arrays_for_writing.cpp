// SPDX-License-Identifier: BSD-3-Clause
// An object with __array__ may return a copy, and the memory of Arrow is immutable.
// says: or_other<P, arrays> and or_other<P, arrow> read their elements, as what a function wrote to
// a copy would be lost, and Arrow's memory is immutable. Write T const
#include <dlbridge/python.hpp>

#ifdef WRONG
using element = float;
#else
using element = float const;
#endif

double use(dlbridge::or_other<dlbridge::tensor_span<element>, dlbridge::arrow> const& x) {
  return static_cast<double>(x.data()[0]);
}
