// SPDX-License-Identifier: BSD-3-Clause
// A constructor from float would round the numbers of 64 bits.
// says: a conversion to this element type needs a constructor from float, from double for a dtype
#include <dlbridge/convert.hpp>

struct seconds {
  seconds() = default;
#ifdef WRONG
  explicit seconds(float number) : value(number) {}
#else
  explicit seconds(double number) : value(number) {}
#endif
  double value = 0;
};

template <>
struct dlbridge::dtype_traits<seconds> {
  static constexpr dlbridge::dtype value{kDLFloat, 64};
};

auto convert(dlbridge::tensor_view const& x) { return dlbridge::converted_copy_of<seconds>(x); }
