// SPDX-License-Identifier: BSD-3-Clause
// A call has one type. The result for the first element type, bool, would narrow the others.
// says: a visitor returns the same type for every element type. Convert
#include <dlbridge/any_tensor.hpp>

double use(dlbridge::any_tensor const& x) {
#ifdef WRONG
  return dlbridge::visit(x, [](auto span) { return *span.data(); });
#else
  return dlbridge::visit(x, [](auto span) { return static_cast<double>(*span.data()); });
#endif
}
