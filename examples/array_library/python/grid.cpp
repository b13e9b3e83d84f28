// SPDX-License-Identifier: BSD-3-Clause
// The Python module of grid: its classes are DLPack producers, from_dlpack imports any tensor.
#include <algorithm>
#include <cstddef>
#include <utility>

#include <pybind11/stl.h>
#include <dlbridge/pybind11.hpp>
#include <grid/array.hpp>
#include <grid/dlpack.hpp>

namespace py = pybind11;

namespace {

// [bind]
template <class T>
void bind_array(py::module_& m, char const* name) {
  using array = grid::array<T>;
  py::class_<array> cls(m, name);
  cls.def(py::init<grid::sizes>(), py::arg("shape"))
      .def_property_readonly("shape", &array::shape)
      .def("transposed", &array::transposed)
      .def("sum", &array::sum)
      .def("__getitem__", [](array const& self, grid::sizes const& i) { return self.at(i); })
      .def("__setitem__", [](array& self, grid::sizes const& i, T value) { self.at(i) = value; });

  dlbridge::def_dlpack(cls);  // export: np.from_dlpack(a), torch.from_dlpack(a), ...
  dlbridge::def(              // import: an overload for each dtype
      m, "from_dlpack",
      [](dlbridge::tensor<T> x) { return dlbridge::adopt_as<array>(std::move(x).release()); },
      py::arg("x"), "An array on the memory of x.");
  dlbridge::def(
      m, "copy",
      [](dlbridge::tensor_span<T const> x) {
        return dlbridge::adopt_as<array>(dlbridge::copy_of(x.view()));
      },
      py::arg("x"), "An array on a copy.");
}
// [/bind]

// [member_view]
template <class T>
dlbridge::member_view diagonal(grid::array<T>& a) {
  if (a.shape().size() != 2) {
    throw py::value_error("only a matrix has a diagonal");
  }
  return dlbridge::member_view(dlbridge::description::of(
      a.data(), {std::min(a.shape()[0], a.shape()[1])}, {a.strides()[0] + a.strides()[1]}));
}
// [/member_view]

}  // namespace

PYBIND11_MODULE(grid, m) {
  dlbridge::init(m);
  bind_array<float>(m, "FloatArray");
  bind_array<double>(m, "DoubleArray");
  m.def("diagonal", diagonal<float>, py::arg("matrix"), "The diagonal, on the matrix's memory.");
  m.def("diagonal", diagonal<double>, py::arg("matrix"));
}
