// A generator of contours with py::array_t: three matrices and a mask, and lists of arrays.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "../contour.hpp"

namespace py = pybind11;

namespace {

using coordinates = py::array_t<double, py::array::c_style | py::array::forcecast>;
using mask_array = py::array_t<bool, py::array::c_style | py::array::forcecast>;

class generator {
 public:
  generator(coordinates x, coordinates y, coordinates z, mask_array const& mask, contour::fill fill)
      : x_(std::move(x)), y_(std::move(y)), z_(std::move(z)), fill_(fill) {
    if (x_.ndim() != 2 || y_.ndim() != 2 || z_.ndim() != 2) {
      throw std::invalid_argument("x, y and z must be matrices");
    }
    if (!same_shape(x_) || !same_shape(y_)) {
      throw std::invalid_argument("x, y and z must have the same shape");
    }
    if (mask.ndim() != 0) {  // numpy.ma.nomask is a False of rank 0
      if (mask.ndim() != 2 || !same_shape(mask)) {
        throw std::invalid_argument("a mask must be a matrix of the shape of z");
      }
      masked_ = std::count(mask.data(), mask.data() + mask.size(), true);
    }
  }

  py::ssize_t masked() const { return masked_; }

  py::tuple filled(double lower, double upper) const {
    if (!(lower < upper)) {
      throw std::invalid_argument("upper must be larger than lower");
    }
    contour::polygon const found(z_.at(0, 0));
    py::array_t<double> points({found.points.size(), found.points[0].size()});
    std::copy_n(found.points[0].data(), points.size(), points.mutable_data());
    py::list all_points;
    all_points.append(points);
    py::list all_codes;
    all_codes.append(array_of(found.codes));
    if (fill_ == contour::fill::codes) {
      return py::make_tuple(all_points, all_codes);
    }
    all_points.append(py::none());  // a chunk without polygons
    all_codes.append(py::none());
    if (fill_ == contour::fill::chunk_codes) {
      return py::make_tuple(all_points, all_codes);
    }
    py::list all_offsets;
    all_offsets.append(array_of(found.offsets));
    all_offsets.append(py::none());
    return py::make_tuple(all_points, all_codes, all_offsets);
  }

 private:
  bool same_shape(py::array const& other) const {
    return other.shape(0) == z_.shape(0) && other.shape(1) == z_.shape(1);
  }
  template <class Array>
  static py::array_t<typename Array::value_type> array_of(Array const& values) {
    py::array_t<typename Array::value_type> result(static_cast<py::ssize_t>(values.size()));
    std::copy(values.begin(), values.end(), result.mutable_data());
    return result;
  }

  coordinates x_, y_, z_;
  contour::fill fill_;
  py::ssize_t masked_ = 0;
};

}  // namespace

PYBIND11_MODULE(contour_before, m) {
  py::enum_<contour::fill>(m, "Fill", py::module_local())
      .value("CODES", contour::fill::codes)
      .value("CHUNK_CODES", contour::fill::chunk_codes)
      .value("CHUNK_OFFSETS", contour::fill::chunk_offsets);
  py::class_<generator>(m, "Generator", py::module_local())
      .def(py::init<coordinates, coordinates, coordinates, mask_array, contour::fill>(),
           py::arg("x"), py::arg("y"), py::arg("z"), py::arg("mask"), py::kw_only(),
           py::arg("fill") = contour::fill::codes)
      .def("filled", &generator::filled, py::arg("lower"), py::arg("upper"))
      .def_property_readonly("masked", &generator::masked);
}
