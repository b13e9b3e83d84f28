// SPDX-License-Identifier: BSD-3-Clause
// What a function wrote to the copy of another layout would be lost.
// lines: 40
// says: row_major_of is of any_tensor, any_argument or managed_tensor. Write any_tensor_of<types
#include <dlbridge/pybind11.hpp>

#ifdef WRONG
using list = dlbridge::types<float, double>;
#else
using list = dlbridge::types<float const, double const>;
#endif
using parameter = dlbridge::row_major_of<dlbridge::any_tensor_of<list>>;

PYBIND11_MODULE(example, m) {
  dlbridge::def(m, "f", [](parameter const& x) { return x.view().rank(); });
}
