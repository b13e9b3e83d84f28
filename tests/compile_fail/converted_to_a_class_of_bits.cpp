// SPDX-License-Identifier: BSD-3-Clause
// A class that is made from its bits would take a converted number for them.
// says: a conversion to this element type needs a constructor from float
#include <dlbridge/convert.hpp>

class half {
 public:
  half() = default;
#ifdef WRONG
  explicit half(std::uint16_t bits) : bits_(bits) {}
#else
  explicit half(float number) : bits_(dlbridge::float16(number).bits()) {}
#endif

 private:
  std::uint16_t bits_ = 0;
};

template <>
struct dlbridge::dtype_traits<half> {
  static constexpr dlbridge::dtype value{kDLFloat, 16};
};

auto convert(dlbridge::tensor_view const& view) { return dlbridge::converted_copy_of<half>(view); }
