// The extension with nanobind.
// [nanobind]
#include <dlbridge/nanobind.hpp>

#include "filters.hpp"

namespace nb = nanobind;

NB_MODULE(with_nanobind, m) {
  dlbridge::init(m);
  dlbridge::def(m, "luma", &filters::luma, nb::arg("image"), "Brightness of an 8-bit image.");
  dlbridge::def(m, "scale", &filters::scale, nb::arg("image"), nb::arg("factor") = 2.0F);
}
// [/nanobind]
