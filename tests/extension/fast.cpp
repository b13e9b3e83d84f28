// SPDX-License-Identifier: BSD-3-Clause
// Functions that def_fast binds: of every number type, of tensors, and lambdas.
#include <cstdint>

#include "registration.hpp"

namespace {

using vector_shape = dlbridge::shape<dlbridge::dynamic_extent>;
using span_to_read = dlbridge::tensor_span<float const, vector_shape>;
using span_to_write = dlbridge::tensor_span<float, vector_shape>;

template <class T>
T echo(T value) noexcept {
  return value;
}

double dot(span_to_read const& x, span_to_read const& y) {
  double total = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    total += static_cast<double>(x(i)) * static_cast<double>(y(i));
  }
  return total;
}

}  // namespace

void add_fast(py::module_& m) {
  py::module_ fast = m.def_submodule("fast");
  dlbridge::def_fast<&echo<bool>>(fast, "boolean", {"value"});
  dlbridge::def_fast<&echo<std::int8_t>>(fast, "int8", {"value"});
  dlbridge::def_fast<&echo<std::int16_t>>(fast, "int16", {"value"});
  dlbridge::def_fast<&echo<std::int32_t>>(fast, "int32", {"value"});
  dlbridge::def_fast<&echo<std::int64_t>>(fast, "int64", {"value"});
  dlbridge::def_fast<&echo<std::uint8_t>>(fast, "uint8", {"value"});
  dlbridge::def_fast<&echo<std::uint16_t>>(fast, "uint16", {"value"});
  dlbridge::def_fast<&echo<std::uint32_t>>(fast, "uint32", {"value"});
  dlbridge::def_fast<&echo<std::uint64_t>>(fast, "uint64", {"value"});
  dlbridge::def_fast<&echo<float>>(fast, "float32", {"value"});
  dlbridge::def_fast<&echo<double>>(fast, "float64", {"value"});

  dlbridge::def_fast<&dot>(fast, "dot", {"x", "y"}, "The scalar product.");
  dlbridge::def_fast<&dot>(fast, "unnamed");
  dlbridge::def_fast(fast, "nothing", [] {});
  dlbridge::def_fast(fast, "beyond_ascii", [](int x, int y) { return x - y; }, {"größe", "ä"});
  dlbridge::def_fast(fast, "axpy",
                     [](double a, span_to_read x, span_to_write y) {
                       for (std::int64_t i = 0; i < x.extent(0); ++i) {
                         y(i) += static_cast<float>(a) * x(i);
                       }
                     },
                     {"a", "x", "y"});
  m.def("define_fast", [](py::module_ module) {
    dlbridge::def_fast(module, "extent", [](span_to_read x) { return x.extent(0); }, {"x"});
  });
  m.def("too_many_names",
        [](py::module_ module) { dlbridge::def_fast<&dot>(module, "dot3", {"x", "y", "z"}); });
}
