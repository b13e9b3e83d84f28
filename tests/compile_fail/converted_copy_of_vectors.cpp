// SPDX-License-Identifier: BSD-3-Clause
// Copies are converted to dtypes of single numbers.
// says: a tensor is converted to a dtype of numbers
#include <dlbridge/convert.hpp>

struct pixel {
  float values[4];
};
template <>
struct dlbridge::dtype_traits<pixel> {
  static constexpr dlbridge::dtype value{kDLFloat, 32, 4};
};

#ifdef WRONG
using element = pixel;
#else
using element = double;
#endif

dlbridge::managed_tensor convert(dlbridge::tensor_view const& x) {
  return dlbridge::converted_copy_of<element>(x);
}
