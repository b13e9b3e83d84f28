// An image module with py::array: an input of any layout, an output that is written, a transform in
// Python, and a comparison.
// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "../image.hpp"

namespace py = pybind11;

namespace {

using points = py::array_t<double, py::array::c_style | py::array::forcecast>;

points mesh_of(py::object const& transform, py::ssize_t rows, py::ssize_t columns) {
  py::array_t<double> at({rows * columns, py::ssize_t{2}});
  auto to = at.mutable_unchecked<2>();
  for (py::ssize_t y = 0; y < rows; ++y) {
    for (py::ssize_t x = 0; x < columns; ++x) {
      to(y * columns + x, 0) = static_cast<double>(x) + 0.5;
      to(y * columns + x, 1) = static_cast<double>(y) + 0.5;
    }
  }
  points mesh(transform.attr("inverted")().attr("transform")(at));
  if (mesh.ndim() != 2 || mesh.shape(0) != rows * columns || mesh.shape(1) != 2) {
    throw std::runtime_error("the mesh has a wrong shape");
  }
  return mesh;
}

template <class T>
void run(py::array const& in, py::array& out, double const* mesh, float alpha) {
  auto const channels_of = [](py::array const& x) { return x.ndim() == 3 ? x.shape(2) : 1; };
  image::pixels<T const> const from{static_cast<T const*>(in.data()), in.shape(0), in.shape(1),
                                    channels_of(in)};
  image::pixels<T> const to{static_cast<T*>(out.mutable_data()), out.shape(0), out.shape(1),
                            channels_of(out)};
  py::gil_scoped_release const release;
  image::resample(from, to, mesh, alpha);
}

void resample(py::array in, py::array& out, py::object const& transform, image::interpolation,
              float alpha) {
  for (py::array const& each : {in, out}) {
    if (each.ndim() != 2 && each.ndim() != 3) {
      throw std::invalid_argument("an image has 2 or 3 dimensions");
    }
    if (each.ndim() == 3 && each.shape(2) != 4) {
      throw std::invalid_argument("an image of 3 dimensions has 4 channels");
    }
  }
  if (in.ndim() != out.ndim()) {
    throw std::invalid_argument("the images have different numbers of dimensions");
  }
  if (!in.dtype().equal(out.dtype())) {
    throw std::invalid_argument("the images have different dtypes");
  }
  if ((out.flags() & py::array::c_style) == 0) {
    throw std::invalid_argument("the output must be C-contiguous");
  }
  if (!out.writeable()) {
    throw std::invalid_argument("the output must be writeable");
  }
  in = py::array::ensure(in, py::array::c_style);
  points mesh;
  double const* first = nullptr;
  if (!transform.is_none() && !transform.attr("is_affine").cast<bool>()) {
    mesh = mesh_of(transform, out.shape(0), out.shape(1));
    first = mesh.data();
  }
  py::dtype const type = out.dtype();
  auto const is = [&type](py::dtype const& each) { return type.equal(each); };
  if (is(py::dtype::of<std::uint8_t>())) {
    run<std::uint8_t>(in, out, first, alpha);
  } else if (is(py::dtype::of<std::int8_t>())) {
    run<std::int8_t>(in, out, first, alpha);
  } else if (is(py::dtype::of<std::uint16_t>())) {
    run<std::uint16_t>(in, out, first, alpha);
  } else if (is(py::dtype::of<std::int16_t>())) {
    run<std::int16_t>(in, out, first, alpha);
  } else if (is(py::dtype::of<float>())) {
    run<float>(in, out, first, alpha);
  } else if (is(py::dtype::of<double>())) {
    run<double>(in, out, first, alpha);
  } else {
    throw std::invalid_argument("the images must be of bytes, shorts, float32 or float64");
  }
}

py::tuple rms(py::array_t<std::uint8_t> const& expected, py::array_t<std::uint8_t> const& actual) {
  if (expected.ndim() != 3 || actual.ndim() != 3) {
    throw std::invalid_argument("an image has 3 dimensions");
  }
  for (py::ssize_t i = 0; i < 3; ++i) {
    if (expected.shape(i) != actual.shape(i)) {
      throw std::invalid_argument("the sizes of the images do not match");
    }
  }
  auto const a = expected.unchecked<3>();
  auto const b = actual.unchecked<3>();
  py::array_t<std::uint8_t> result({a.shape(0), a.shape(1), a.shape(2)});
  auto difference = result.mutable_unchecked<3>();
  double sum = 0;
  for (py::ssize_t i = 0; i < a.shape(0); ++i) {
    for (py::ssize_t j = 0; j < a.shape(1); ++j) {
      for (py::ssize_t k = 0; k < a.shape(2); ++k) {
        int const d = a(i, j, k) - b(i, j, k);
        sum += d * d;
        difference(i, j, k) = static_cast<std::uint8_t>(std::abs(d));
      }
    }
  }
  return py::make_tuple(std::sqrt(sum), result);
}

}  // namespace

PYBIND11_MODULE(image_before, m) {
  py::enum_<image::interpolation>(m, "Interpolation", py::module_local())
      .value("NEAREST", image::interpolation::nearest)
      .value("BILINEAR", image::interpolation::bilinear);
  m.def("resample", &resample, py::arg("input"), py::arg("output"), py::arg("transform"),
        py::arg("interpolation") = image::interpolation::nearest, py::arg("alpha") = 1.0F);
  m.def("rms", &rms, py::arg("expected"), py::arg("actual"));
}
