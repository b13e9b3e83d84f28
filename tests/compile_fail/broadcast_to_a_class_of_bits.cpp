// SPDX-License-Identifier: BSD-3-Clause
// A class that is made from its bits would take a number for them.
// says: a number becomes an element of this type by a constructor from float
#include <dlbridge/broadcast.hpp>

struct half {
  half() = default;
#ifdef WRONG
  explicit half(std::uint16_t own_bits) : bits(own_bits) {}
#else
  explicit half(float number) : bits(number < 0 ? 0x8000 : 0) {}
#endif
  std::uint16_t bits = 0;
};

template <>
struct dlbridge::dtype_traits<half> {
  static constexpr dlbridge::dtype value{kDLFloat, 16};
};

auto broadcast() { return dlbridge::broadcast_to<half>(1.5F, dlbridge::dims{2}); }
