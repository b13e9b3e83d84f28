// SPDX-License-Identifier: BSD-3-Clause
// Only 0 and 1 are values of bool, so that other numbers are converted to it by value.
// says: a tensor is converted to integers, floats or complex numbers, and to bool by_value
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using rule = dlbridge::converted;
#else
using rule = dlbridge::by_value;
#endif

auto first(dlbridge::tensor_span<bool const, dlbridge::dynamic_rank, rule> const& x) {
  return x.data();
}
