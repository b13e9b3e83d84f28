// SPDX-License-Identifier: BSD-3-Clause
// An enum with a dtype of floats stores their bits, which a cast of the number does not give.
// says: a conversion to this element type needs a constructor from float
#include <dlbridge/convert.hpp>

#include <cstdint>

enum class stored : std::uint16_t {};

template <>
struct dlbridge::dtype_traits<stored> {
#ifdef WRONG
  static constexpr dlbridge::dtype value{kDLBfloat, 16};
#else
  static constexpr dlbridge::dtype value{kDLUInt, 16};
#endif
};

auto convert(dlbridge::tensor_view const& view) {
  return dlbridge::converted_copy_of<stored>(view);
}
