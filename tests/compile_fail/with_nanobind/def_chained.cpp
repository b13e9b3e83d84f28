// SPDX-License-Identifier: BSD-3-Clause
// The next def of a chain would be that of nanobind, which states no reasons.
// says: void
#include <dlbridge/nanobind.hpp>

struct box {
  void fill(dlbridge::tensor_span<float const>) {}
};

NB_MODULE(example, m) {
  nanobind::class_<box> bound(m, "Box");
#ifdef WRONG
  dlbridge::def(bound, "fill", &box::fill).def("fill_again", &box::fill);
#else
  dlbridge::def(bound, "fill", &box::fill);
  dlbridge::def(bound, "fill_again", &box::fill);
#endif
}
