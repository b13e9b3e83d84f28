// SPDX-License-Identifier: BSD-3-Clause
// A number would become the first member of an aggregate, and the others 0.
// says: a number becomes an element of this type by a constructor from float
#include <dlbridge/broadcast.hpp>

struct point {
#ifndef WRONG
  explicit point(float number) : x(number), y(number) {}
#endif
  float x, y;
};

template <>
struct dlbridge::dtype_traits<point> {
  static constexpr dlbridge::dtype value{kDLFloat, 32, 2};
};

auto repeat() { return dlbridge::broadcast_to<point>(1.5F, {3}); }
