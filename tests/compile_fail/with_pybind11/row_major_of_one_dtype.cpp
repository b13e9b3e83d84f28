// SPDX-License-Identifier: BSD-3-Clause
// A parameter of one dtype states its layout, and whether it is copied, by its constraints.
// lines: 40
// says: row_major_of is of any_tensor, any_argument or managed_tensor. Write any_tensor_of<types
#include <dlbridge/pybind11.hpp>

#ifdef WRONG
using parameter = dlbridge::row_major_of<dlbridge::tensor_span<float const>>;
#else
using parameter = dlbridge::row_major_of<dlbridge::any_tensor>;
#endif

PYBIND11_MODULE(example, m) {
  dlbridge::def(m, "f", [](parameter const& x) { return x.view().rank(); });
}
