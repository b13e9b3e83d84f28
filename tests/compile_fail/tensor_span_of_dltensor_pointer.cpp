// SPDX-License-Identifier: BSD-3-Clause
// A DLTensor that a C function receives is checked by view_of before it is read.
// says: not checked yet: write tensor_span<T>\(view_of\(\*t\)\)
#include <dlbridge/tensor.hpp>
#include <dlbridge/validate.hpp>

void use(DLTensor* t) {
#ifdef WRONG
  dlbridge::tensor_span<float const> const span(t);
#else
  dlbridge::tensor_span<float const> const span(dlbridge::view_of(*t));
#endif
  static_cast<void>(span);
}
