// SPDX-License-Identifier: BSD-3-Clause
// The module plate: strips and their rows as DLPack producers, and one step of the computation on
// tensors of any library.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <dlbridge/pybind11.hpp>

#include "strip.hpp"

namespace py = pybind11;

// [traits]
template <>
struct dlbridge::array_traits<plate::rows> {
  static description describe(plate::rows& r) noexcept {
    return description::of(r.first, {r.count, r.columns});
  }
};

template <>
struct dlbridge::array_traits<plate::strip> {
  static description describe(plate::strip& s) noexcept {
    plate::rows all = s.all();
    return array_traits<plate::rows>::describe(all);
  }
};
// [/traits]

namespace {

using grid = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
using row = dlbridge::shape<1, dlbridge::dynamic_extent>;

// [relax]
// Sets each inner point to the mean of its neighbours; changes gets the largest of each column.
void relax(dlbridge::tensor_span<double const, grid> from, dlbridge::tensor_span<double, grid> to,
           dlbridge::tensor_span<double, row> changes) {
  for (int k = 0; k < 2; ++k) {
    if (to.extent(k) != from.extent(k) || changes.extent(1) != from.extent(1)) {
      throw py::value_error("from, to and changes differ in size");
    }
  }
  for (std::int64_t j = 1; j + 1 < from.extent(1); ++j) {
    double largest = 0;
    for (std::int64_t i = 1; i + 1 < from.extent(0); ++i) {
      to(i, j) = 0.25 * (from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1));
      largest = std::max(largest, std::abs(to(i, j) - from(i, j)));
    }
    changes(0, j) = largest;
  }
}
// [/relax]

}  // namespace

PYBIND11_MODULE(plate, m) {
  dlbridge::init(m);
  using plate::rows;
  using plate::strip;

  // [bind]
  py::class_<rows> rows_class(m, "Rows");
  dlbridge::def_dlpack(rows_class);

  py::class_<strip> strip_class(m, "Strip");
  strip_class.def(py::init<std::ptrdiff_t, std::ptrdiff_t>(), py::arg("rows"), py::arg("columns"))
      .def("between", &strip::between, py::arg("first"), py::arg("end"), py::keep_alive<0, 1>());
  dlbridge::def_dlpack(strip_class);
  // [/bind]

  strip_class
      .def_property_readonly_static("created", [](py::object const&) { return strip::created; })
      .def_property_readonly_static("alive", [](py::object const&) { return strip::alive; });
  dlbridge::def(m, "relax", relax, py::arg("before"), py::arg("after"), py::arg("changes"),
                "One step: sets each inner point to the mean of its four neighbours. changes gets "
                "the largest change of each column.");
}
