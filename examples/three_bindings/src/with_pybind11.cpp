// SPDX-License-Identifier: BSD-3-Clause
// The extension with pybind11.
#include <dlbridge/pybind11.hpp>

#include "filters.hpp"

namespace py = pybind11;

PYBIND11_MODULE(with_pybind11, m) {
  dlbridge::init(m);
  dlbridge::def(m, "luma", &filters::luma, py::arg("image"), "Brightness of an 8-bit image.");
  dlbridge::def(m, "scale", &filters::scale, py::arg("image"), py::arg("factor") = 2.0F);
  py::class_<filters::canvas> canvas(m, "Canvas");
  canvas.def(py::init<std::size_t, std::size_t>());
  dlbridge::def_dlpack(canvas);
}
