// The Python module of grid: its classes are DLPack producers, and take any tensor in.
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
  py::class_<array> bound(m, name);
  bound.def(py::init<grid::sizes>(), py::arg("shape"))
      .def_property_readonly("shape", &array::shape)
      .def("transposed", &array::transposed)
      .def("sum", &array::sum)
      .def("__getitem__", [](array const& self, grid::sizes const& i) { return self.at(i); })
      .def("__setitem__", [](array& self, grid::sizes const& i, T value) { self.at(i) = value; });

  dlbridge::def_dlpack(bound);  // out: np.from_dlpack(a), torch.from_dlpack(a), ...
  dlbridge::def(                // in: an overload for each dtype
      m, "from_dlpack",
      [](dlbridge::tensor<T> x) { return dlbridge::adopt_as<array>(std::move(x).release()); },
      py::arg("x"), "An array on the same memory.");
  dlbridge::def(
      m, "copy",
      [](dlbridge::tensor_span<T const> x) {
        return dlbridge::adopt_as<array>(dlbridge::copy_of(x.view()));
      },
      py::arg("x"), "An array on memory of its own.");
}
// [/bind]

// [part]
template <class T>
dlbridge::member_view diagonal(grid::array<T>& a) {
  if (a.shape().size() != 2) {
    throw py::value_error("only a matrix has a diagonal");
  }
  return dlbridge::member_view(dlbridge::description::of(
      a.data(), {std::min(a.shape()[0], a.shape()[1])}, {a.strides()[0] + a.strides()[1]}));
}
// [/part]

}  // namespace

PYBIND11_MODULE(grid, m) {
  dlbridge::init(m);
  bind_array<float>(m, "FloatArray");
  bind_array<double>(m, "DoubleArray");
  m.def("diagonal", diagonal<float>, py::arg("matrix"), "Its memory, as a tensor of any library.");
  m.def("diagonal", diagonal<double>, py::arg("matrix"));
}
