// SPDX-License-Identifier: BSD-3-Clause
// A function returns a tensor by value. member_view or def_dlpack share the memory of a member.
// lines: 80
// says: a tensor is returned by value, moved out.*def_dlpack
#include <dlbridge/pybind11.hpp>

namespace py = pybind11;
struct holder {
  dlbridge::tensor<float> values;
};

PYBIND11_MODULE(bad, m) {
  py::class_<holder> bound(m, "Holder");
#ifdef WRONG
  bound.def_property_readonly("values",
                              [](holder& h) -> dlbridge::tensor<float> const& { return h.values; });
#else
  bound.def_property_readonly("values",
                              [](holder& h) { return dlbridge::member_view(h.values.span()); });
#endif
}
