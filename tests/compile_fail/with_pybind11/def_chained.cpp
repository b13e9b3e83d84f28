// SPDX-License-Identifier: BSD-3-Clause
// The next def of a chain would be that of pybind11, which states no reasons.
// says: void
#include <dlbridge/pybind11.hpp>

struct box {
  void fill(dlbridge::tensor_span<float const>) {}
};

PYBIND11_MODULE(example, m) {
  pybind11::class_<box> bound(m, "Box");
#ifdef WRONG
  dlbridge::def(bound, "fill", &box::fill).def("fill_again", &box::fill);
#else
  dlbridge::def(bound, "fill", &box::fill);
  dlbridge::def(bound, "fill_again", &box::fill);
#endif
}
