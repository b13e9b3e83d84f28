// The same generator of contours with dlbridge.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <dlbridge/pybind11.hpp>

#include "../contour.hpp"

namespace py = pybind11;

namespace {

using dlbridge::row_major;
using matrix = dlbridge::shape<dlbridge::named<'n'>, dlbridge::named<'m'>>;
using coordinates = dlbridge::or_other<dlbridge::convert<double, matrix, row_major>>;
using flags = dlbridge::convert<bool, dlbridge::dynamic_rank, row_major, dlbridge::by_value>;
using optional_mask = std::optional<dlbridge::or_other<flags>>;
template <class T>
using chunks = std::vector<std::optional<dlbridge::tensor<T>>>;
using polygons = std::tuple<chunks<double>, chunks<std::uint8_t>>;
using polygons_with_offsets =
    std::tuple<chunks<double>, chunks<std::uint8_t>, chunks<std::uint32_t>>;

class generator {
 public:
  generator(coordinates x, coordinates y, coordinates z, optional_mask const& mask,
            contour::fill fill)
      : x_(std::move(x)), y_(std::move(y)), z_(std::move(z)), fill_(fill) {
    if (mask && mask->rank() != 0) {  // numpy.ma.nomask is a False of rank 0
      if (mask->rank() != 2 || mask->extent(0) != z_.extent(0) || mask->extent(1) != z_.extent(1)) {
        throw std::invalid_argument("a mask must be a matrix of the shape of z");
      }
      masked_ = std::count(mask->data(), mask->data() + mask->count(), true);
    }
  }

  std::int64_t masked() const { return masked_; }

  std::variant<polygons, polygons_with_offsets> filled(double lower, double upper) const {
    if (!(lower < upper)) {
      throw std::invalid_argument("upper must be larger than lower");
    }
    contour::polygon found(z_.at(0, 0));
    chunks<double> points;
    chunks<std::uint8_t> codes;
    points.emplace_back(dlbridge::build(std::move(found.points)));
    codes.emplace_back(dlbridge::build(std::move(found.codes)));
    if (fill_ == contour::fill::codes) {
      return polygons(std::move(points), std::move(codes));
    }
    points.emplace_back();  // a chunk without polygons
    codes.emplace_back();
    if (fill_ == contour::fill::chunk_codes) {
      return polygons(std::move(points), std::move(codes));
    }
    chunks<std::uint32_t> offsets;
    offsets.emplace_back(dlbridge::build(std::move(found.offsets)));
    offsets.emplace_back();
    return polygons_with_offsets(std::move(points), std::move(codes), std::move(offsets));
  }

 private:
  coordinates x_, y_, z_;
  contour::fill fill_;
  std::int64_t masked_ = 0;
};

}  // namespace

PYBIND11_MODULE(contour_after, m) {
  dlbridge::init(m);
  py::enum_<contour::fill>(m, "Fill", py::module_local())
      .value("CODES", contour::fill::codes)
      .value("CHUNK_CODES", contour::fill::chunk_codes)
      .value("CHUNK_OFFSETS", contour::fill::chunk_offsets);
  py::class_<generator> c(m, "Generator", py::module_local());
  dlbridge::def(c, py::init<coordinates, coordinates, coordinates, optional_mask, contour::fill>(),
                py::arg("x"), py::arg("y"), py::arg("z"), py::arg("mask"), py::kw_only(),
                py::arg("fill") = contour::fill::codes);
  dlbridge::def(c, "filled", &generator::filled, py::arg("lower"), py::arg("upper"),
                dlbridge::returns{dlbridge::library::numpy});
  c.def_property_readonly("masked", &generator::masked);
}
