// SPDX-License-Identifier: BSD-3-Clause
// Elements that share bytes are no objects of C++.
// says: elements below a byte share bytes
#include <dlbridge/tensor.hpp>

struct number {
  signed char value;
};
template <>
struct dlbridge::dtype_traits<number> {
#ifdef WRONG
  static constexpr dlbridge::dtype value{kDLInt, 4};
#else
  static constexpr dlbridge::dtype value{kDLInt, 8};
#endif
};

float first(dlbridge::tensor_span<number const, dlbridge::shape<2>> numbers) {
  return numbers(0).value;
}
