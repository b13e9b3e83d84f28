// SPDX-License-Identifier: BSD-3-Clause
// The module `moved_pybind11`: the same functions with py::array_t and with dlbridge, as
// docs/howto/from_array_t.md shows them. tests/python/test_moved_extensions.py compares them.
#include <dlbridge/pybind11.hpp>
#include <dlbridge/python/call/vectorize.hpp>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

namespace before {
// [array_t]
using numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

numbers smoothed(numbers const& x) {
  numbers out(x.size());
  auto const from = x.unchecked<1>();
  auto to = out.mutable_unchecked<1>();
  for (py::ssize_t i = 0; i < from.shape(0); ++i) {
    to(i) = (from(i > 0 ? i - 1 : 0) + from(i)) / 2;
  }
  return out;
}
// [/array_t]

void add_to(py::array_t<double>& out, numbers const& x) {
  auto to = out.mutable_unchecked<1>();
  auto const from = x.unchecked<1>();
  for (py::ssize_t i = 0; i < from.shape(0); ++i) {
    to(i) += from(i);
  }
}

double total(numbers const& x, std::optional<numbers> const& weights) {
  double sum = 0;
  for (py::ssize_t i = 0; i < x.shape(0); ++i) {
    sum += x.at(i) * (weights ? weights->at(i) : 1);
  }
  return sum;
}

std::map<std::string, py::array_t<double>> sums(std::vector<numbers> const& all) {
  auto const count = static_cast<py::ssize_t>(all.size());
  py::array_t<double> counts(count);
  py::array_t<double> sums(count);
  for (py::ssize_t i = 0; i < count; ++i) {
    numbers const& each = all[static_cast<std::size_t>(i)];
    counts.mutable_at(i) = static_cast<double>(each.size());
    sums.mutable_at(i) = std::accumulate(each.data(), each.data() + each.size(), 0.0);
  }
  return {{"count", counts}, {"sum", sums}};
}

py::array_t<double> identity(py::ssize_t n) {
  py::array_t<double> out({n, n});
  auto to = out.mutable_unchecked<2>();
  for (py::ssize_t i = 0; i < n; ++i) {
    for (py::ssize_t j = 0; j < n; ++j) {
      to(i, j) = i == j ? 1 : 0;
    }
  }
  return out;
}
}  // namespace before

namespace after {
// [convert]
using vector = dlbridge::shape<dlbridge::dynamic_extent>;
using numbers = dlbridge::convert<double, vector, dlbridge::row_major>;

auto smoothed(numbers x) {
  auto out = x.empty_like();  // of the caller's library
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    out(i) = (x(i > 0 ? i - 1 : 0) + x(i)) / 2;
  }
  return out;
}
// [/convert]

// [lists]
double mean(dlbridge::or_other<numbers> const& x) {  // the items of a list are copied
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum += x(i);
  }
  return sum / static_cast<double>(x.extent(0));
}
// [/lists]

// [written]
using length_n = dlbridge::shape<dlbridge::named<'n'>>;  // of one length in all parameters

void add_to(dlbridge::tensor_span<double, length_n> out,
            dlbridge::convert<double, length_n> const& x) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    out(i) += x(i);
  }
}
// [/written]

// [optional]
double total(numbers const& x, std::optional<numbers> const& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum += x(i) * (weights ? weights->at(i) : 1);  // at() raises IndexError
  }
  return sum;
}
// [/optional]

// [created]
using matrix = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
auto identity(std::int64_t n) {
  dlbridge::tensor<double, matrix> out(dlbridge::build_empty(dlbridge::dtype_of<double>(), {n, n}));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      out(i, j) = i == j ? 1 : 0;
    }
  }
  return out;
}
// [/created]

// [split]
using part = dlbridge::tensor_span<double const, matrix>;

std::map<std::string, dlbridge::managed_tensor> sums(std::vector<part> const& all) {
  std::vector<double> extents;
  std::vector<double> sums;
  for (part const& each : all) {
    extents.push_back(static_cast<double>(each.count()));
    sums.push_back(0);
    for (std::int64_t i = 0; i < each.extent(0); ++i) {
      for (std::int64_t j = 0; j < each.extent(1); ++j) {
        sums.back() += each(i, j);
      }
    }
  }
  std::map<std::string, dlbridge::managed_tensor> result;
  result.emplace("count", dlbridge::build(std::move(extents)));
  result.emplace("sum", dlbridge::build(std::move(sums)));
  return result;
}
// [/split]

void add_functions(py::module_& m) {
  // [bound]
  dlbridge::def(m, "smoothed", smoothed, py::arg("x"));
  dlbridge::def(m, "mean", mean, py::arg("x"));
  dlbridge::def(m, "add_to", add_to, py::arg("out"), py::arg("x"));
  dlbridge::def(m, "total", total, py::arg("x"), py::arg("weights") = py::none());
  dlbridge::def(m, "identity", identity, py::arg("n"), dlbridge::returns{dlbridge::library::numpy});
  dlbridge::def(m, "sums", sums, py::arg("all"), dlbridge::returns{dlbridge::library::numpy});
  // [/bound]
  // [vectorized]
  auto const hypotenuse = [](double x, double y) { return std::hypot(x, y); };
  dlbridge::def(m, "hypotenuse", dlbridge::vectorize(hypotenuse), py::arg("x"), py::arg("y"));
  // [/vectorized]
}
}  // namespace after

}  // namespace

PYBIND11_MODULE(moved_pybind11, m, py::mod_gil_not_used()) {
  dlbridge::init(m);
  py::module_ old = m.def_submodule("before");
  old.def("smoothed", &before::smoothed, py::arg("x"));
  old.def("add_to", &before::add_to, py::arg("out"), py::arg("x"));
  old.def("total", &before::total, py::arg("x"), py::arg("weights") = py::none());
  old.def("sums", &before::sums, py::arg("all"));
  old.def("identity", &before::identity, py::arg("n"));
  old.def("hypotenuse", py::vectorize([](double x, double y) { return std::hypot(x, y); }),
          py::arg("x"), py::arg("y"));
  py::module_ moved = m.def_submodule("after");
  after::add_functions(moved);
}
