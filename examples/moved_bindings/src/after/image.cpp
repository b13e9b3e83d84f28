// The same image module with dlbridge.
// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <tuple>

#include <dlbridge/pybind11.hpp>

#include "../image.hpp"

namespace py = pybind11;

namespace {

using input = dlbridge::or_other<dlbridge::row_major_of<dlbridge::any_tensor>>;
using channels =
    dlbridge::types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, float, double>;
using output = dlbridge::any_tensor_of<channels, dlbridge::dynamic_rank, dlbridge::row_major>;
using points = dlbridge::shape<dlbridge::dynamic_extent, 2>;
using mesh = dlbridge::or_other<dlbridge::convert<double, points, dlbridge::row_major>>;

mesh mesh_of(py::object const& transform, std::int64_t rows, std::int64_t columns) {
  dlbridge::tensor<double, points> at(
      dlbridge::build_empty(dlbridge::dtype_of<double>(), {rows * columns, 2}));
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x) {
      at(y * columns + x, 0) = static_cast<double>(x) + 0.5;
      at(y * columns + x, 1) = static_cast<double>(y) + 0.5;
    }
  }
  py::object const array = dlbridge::to_python(std::move(at), dlbridge::library::numpy);
  py::object const moved = transform.attr("inverted")().attr("transform")(array);
  auto result = dlbridge::python::cast<mesh>(moved.ptr(), nullptr, "the result of transform");
  if (result.extent(0) != rows * columns) {
    throw std::runtime_error("the mesh has a wrong shape");
  }
  return result;
}

template <class T>
image::pixels<T> pixels_of(
    dlbridge::tensor_span<T, dlbridge::dynamic_rank, dlbridge::row_major> x) {
  if (x.rank() != 2 && x.rank() != 3) {
    throw std::invalid_argument("an image has 2 or 3 dimensions");
  }
  if (x.rank() == 3 && x.extent(2) != 4) {
    throw std::invalid_argument("an image of 3 dimensions has 4 channels");
  }
  return {x.data(), x.extent(0), x.extent(1), x.rank() == 3 ? 4 : 1};
}

void resample(input const& in, output out, py::object const& transform, image::interpolation,
              float alpha) {
  if (in.view().rank() != out.view().rank()) {
    throw std::invalid_argument("the images have different numbers of dimensions");
  }
  if (in.dtype() != out.dtype()) {
    throw std::invalid_argument("the images have different dtypes");
  }
  dlbridge::visit(out, [&](auto span) {
    using T = typename decltype(span)::element_type;
    auto const to = pixels_of<T>(span);
    auto const from =
        pixels_of<T const>(in.as<T const, dlbridge::dynamic_rank, dlbridge::row_major>());
    std::optional<mesh> points;
    if (!transform.is_none() && !transform.attr("is_affine").cast<bool>()) {
      points = mesh_of(transform, to.rows, to.columns);
    }
    py::gil_scoped_release const release;
    image::resample(from, to, points ? points->data() : nullptr, alpha);
  });
}

using hwc = dlbridge::shape<dlbridge::named<'h'>, dlbridge::named<'w'>, dlbridge::named<'c'>>;
using bytes = dlbridge::or_other<dlbridge::convert<std::uint8_t, hwc, dlbridge::by_value>>;

auto rms(bytes const& expected, bytes const& actual) {
  auto difference = expected.empty_like();
  double sum = 0;
  for (std::int64_t i = 0; i < expected.extent(0); ++i) {
    for (std::int64_t j = 0; j < expected.extent(1); ++j) {
      for (std::int64_t k = 0; k < expected.extent(2); ++k) {
        int const d = expected(i, j, k) - actual(i, j, k);
        sum += d * d;
        difference(i, j, k) = static_cast<std::uint8_t>(std::abs(d));
      }
    }
  }
  return std::make_tuple(std::sqrt(sum), std::move(difference));
}

}  // namespace

PYBIND11_MODULE(image_after, m) {
  dlbridge::init(m);
  py::enum_<image::interpolation>(m, "Interpolation", py::module_local())
      .value("NEAREST", image::interpolation::nearest)
      .value("BILINEAR", image::interpolation::bilinear);
  dlbridge::def(m, "resample", &resample, py::arg("input"), py::arg("output"), py::arg("transform"),
                py::arg("interpolation") = image::interpolation::nearest, py::arg("alpha") = 1.0F);
  dlbridge::def(m, "rms", &rms, py::arg("expected"), py::arg("actual"));
}
