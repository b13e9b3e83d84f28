// SPDX-License-Identifier: BSD-3-Clause
// The extension with nanobind.
// [nanobind]
#include <dlbridge/nanobind.hpp>

#include "filters.hpp"

namespace nb = nanobind;

NB_MODULE(with_nanobind, m) {
  dlbridge::init(m);
  dlbridge::def(m, "luma", &filters::luma, nb::arg("image"), "Brightness of an 8-bit image.");
  dlbridge::def(m, "scale", &filters::scale, nb::arg("image"), nb::arg("factor") = 2.0F);
  nb::class_<filters::canvas> canvas(m, "Canvas");
  canvas.def(nb::init<std::size_t, std::size_t>());
  dlbridge::def_dlpack(canvas);
}
// [/nanobind]
