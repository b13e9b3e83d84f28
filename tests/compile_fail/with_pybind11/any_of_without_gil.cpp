// SPDX-License-Identifier: BSD-3-Clause
// An any_of is borrowed, as a tensor_span is, and needs the GIL. An any_tensor_of owns its tensor.
// says: a tensor_span is borrowed while the GIL is held, and this call releases it
#include <dlbridge/pybind11.hpp>

using list = dlbridge::types<float const, double const>;
#ifdef WRONG
using parameter = dlbridge::any_of<list>;
#else
using parameter = dlbridge::any_tensor_of<list>;
#endif

void bind(pybind11::module_& m) {
  dlbridge::def(
      m, "size", [](parameter const& x) { return x.view().count(); },
      pybind11::call_guard<pybind11::gil_scoped_release>());
}
