// SPDX-License-Identifier: BSD-3-Clause
// A list of element types names no one to which another dtype would be converted.
// says: any_of converts nothing. Write convert<T> for one element type
#include <dlbridge/any_tensor.hpp>

#ifdef WRONG
using constraint = dlbridge::converted;
#else
using constraint = dlbridge::row_major;
#endif

using matrix = dlbridge::any_of<dlbridge::types<float const, double const>, dlbridge::dynamic_rank,
                                constraint>;

auto use(dlbridge::tensor_view const& view) { return matrix(view).dtype(); }
