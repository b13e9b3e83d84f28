// SPDX-License-Identifier: BSD-3-Clause
// What a function wrote to the copy of a list would be lost.
// says: or_other<P, numbers> reads its elements, as what a function wrote .* would be lost. Write T
// const
#include <dlbridge/python.hpp>

#ifdef WRONG
using element = float;
#else
using element = float const;
#endif

double use(dlbridge::or_other<dlbridge::tensor_span<element>, dlbridge::numbers> const& x) {
  return static_cast<double>(x.data()[0]);
}
