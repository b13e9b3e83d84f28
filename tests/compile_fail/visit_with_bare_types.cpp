// SPDX-License-Identifier: BSD-3-Clause
// The element types of visit are one template argument, so that defaults can follow.
// says: write visit<types<float, double>>\(tensor, f\)
#include <dlbridge/any_tensor.hpp>

void use(dlbridge::tensor_view const& x, dlbridge::any_tensor& any) {
  auto const f = [](auto span) { static_cast<void>(span.data()); };
#ifdef WRONG
  dlbridge::visit<float, double>(x, f);
#else
  dlbridge::visit<dlbridge::types<float, double> >(x, f);
  dlbridge::visit<dlbridge::types<float, double> >(any, f);
#endif
}
