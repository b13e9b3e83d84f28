// Functions that take tensors and do nothing, bound in every way that dlbridge offers.
#include <dlbridge/pybind11.hpp>

#include <pybind11/pybind11.h>

using any_floats = dlbridge::tensor_span<float const>;
using owned_floats = dlbridge::tensor<float const>;
using matrix =
    dlbridge::tensor_span<float const,
                          dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>,
                          dlbridge::row_major>;

PYBIND11_MODULE(arguments_dlbridge, m) {
  dlbridge::init(m);
  dlbridge::def_fast(m, "fast", [](any_floats) {}, {"x"});
  dlbridge::def_fast(m, "fast3", [](any_floats, any_floats, any_floats) {}, {"x", "y", "z"});
  dlbridge::def_fast(m, "fast_matrix", [](matrix) {}, {"x"});
  dlbridge::def_fast(m, "fast_owned", [](owned_floats) {}, {"x"});
  m.def("object", [](pybind11::object const&) {});
  m.def("caster", [](any_floats) {});
  m.def("caster3", [](any_floats, any_floats, any_floats) {});
  dlbridge::def(m, "def", [](any_floats) {}, pybind11::arg("x"));
  dlbridge::def(m, "def3", [](any_floats, any_floats, any_floats) {});
}
