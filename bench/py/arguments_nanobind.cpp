// The same functions with nanobind's ndarray of any shape, read-only. It checks the device and the
// dtype, but not the version and the extents, and passes no stream.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;
using any_floats = nb::ndarray<float const, nb::device::cpu>;

NB_MODULE(arguments_nanobind, m) {
  m.def("argument", [](any_floats) {});
  m.def("argument3", [](any_floats, any_floats, any_floats) {});
}
