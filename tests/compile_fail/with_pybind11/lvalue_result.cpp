// A tensor is moved out; a member is shown by a part of its object, or by def_dlpack.
// says: a tensor is returned by value, moved out.*def_dlpack
#include <dlbridge/pybind11.hpp>

namespace py = pybind11;
struct holder {
  dlbridge::tensor<float> kept;
};

PYBIND11_MODULE(bad, m) {
  py::class_<holder> bound(m, "Holder");
#ifdef WRONG
  bound.def_property_readonly("kept",
                              [](holder& h) -> dlbridge::tensor<float> const& { return h.kept; });
#else
  bound.def_property_readonly("kept",
                              [](holder& h) { return dlbridge::member_view(h.kept.span()); });
#endif
}
