// The same with nanobind's ndarray: any dtype, any shape, read-only; it checks the device and the
// dtype, neither version nor extents, and sends no stream.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;
using any_floats = nb::ndarray<float const, nb::device::cpu>;

NB_MODULE(arguments_nanobind, m) {
  m.def("argument", [](any_floats) {});
  m.def("argument3", [](any_floats, any_floats, any_floats) {});
}
