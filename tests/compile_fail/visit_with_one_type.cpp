// SPDX-License-Identifier: BSD-3-Clause
// The visitor is called with a span of every type of the list, not of the tensor's type alone.
// says: visit calls the visitor with a tensor_span of each element type. Take it as auto
#include <dlbridge/any_tensor.hpp>

double use(dlbridge::any_tensor const& x) {
  auto const first = [](dlbridge::tensor_span<float const> span) -> double { return *span.data(); };
#ifdef WRONG
  dlbridge::visit(x, first);
  return 0;
#else
  return dlbridge::visit<dlbridge::types<float> >(x, first);
#endif
}
