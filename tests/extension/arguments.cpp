// Every kind of tensor parameter, and of each the optional; what they share with other parameters.
#include <dlbridge/pybind11.hpp>

#include <pybind11/typing.h>

#include <cstdint>
#include <optional>
#include <string>

#include "bindings.hpp"
#include "parts.hpp"

namespace {

using vector_shape = dlbridge::shape<dlbridge::dynamic_extent>;
using span_to_read = dlbridge::tensor_span<float const, vector_shape>;
using span_to_write = dlbridge::tensor_span<float, vector_shape>;
using owned = dlbridge::tensor<float const, vector_shape>;
using owned_to_write = dlbridge::tensor<float, vector_shape>;
using originated = dlbridge::argument<float const, vector_shape>;

// By pybind11 and by def a function may return an optional number; a fast one returns a number.
template <class Kind>
void add_kind(roads& to, std::string const& name) {
  to.add(name.c_str(), [](Kind x) { return address_of(x); });
  auto const maybe = [](std::optional<Kind> x) { return x ? address_of(*x) : 0; };
  to.add(("maybe_" + name).c_str(), maybe);
}

double sum(span_to_read const& x) {
  double total = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    total += static_cast<double>(x(i));
  }
  return total;
}

// Where a tensor of any rank is and how it lies there, as the extension sees it.
template <class T>
void add_described(py::module_& m) {
  m.def("described", [](dlbridge::tensor_span<T const> x) -> py::object {
    py::list extents;
    py::list strides;
    for (int i = 0; i < x.rank(); ++i) {
      extents.append(x.extent(i));
      strides.append(x.stride(i));
    }
    return py::make_tuple(address_of(x), std::move(extents), std::move(strides),
                          x.view().read_only());
  });
}

void scale(span_to_write const& x, double factor) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    x(i) = static_cast<float>(static_cast<double>(x(i)) * factor);
  }
}

// Whether the GIL is held inside, and what the tensor adds up to there.
py::typing::Tuple<bool, double> without_gil(originated x, owned const& y) {
  bool const held = PyGILState_Check() != 0;
  double const total = sum(x.span()) + sum(y.span());
  py::gil_scoped_acquire const gil;
  return py::make_tuple(held, total);
}

}  // namespace

void add_arguments(py::module_& m) {
  roads to(m);
  add_kind<span_to_read>(to, "span_to_read");
  add_kind<span_to_write>(to, "span_to_write");
  add_kind<owned>(to, "owned");
  add_kind<owned_to_write>(to, "owned_to_write");
  add_kind<originated>(to, "argument");
  add_kind<dlbridge::any_tensor>(to, "any_tensor");
  add_kind<dlbridge::managed_tensor>(to, "managed_tensor");

  to.add("sum", [](span_to_read x) { return sum(x); });
  to.add("complex_sum", [](dlbridge::tensor_span<std::complex<float> const, vector_shape> x) {
    std::complex<float> total;
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      total += x(i);
    }
    return static_cast<double>(total.imag());
  });
  add_described<bool>(m);
  add_described<std::int16_t>(m);
  add_described<float>(m);
  add_described<std::complex<double>>(m);
  dlbridge::def(m, "scale", &scale, py::arg("x"), py::arg("factor") = 2.0, "Multiplies in place.");
  dlbridge::def(
      m, "join",
      [](originated const& x, span_to_read y, std::string const&) { return sum(y) + x(0); },
      py::arg("x"), py::arg("y"), py::kw_only(), py::arg("how") = "here");
  dlbridge::def(m, "unnamed", [](span_to_read x, span_to_read y) { return sum(x) + sum(y); });
  m.def("plain_pair", [](span_to_read x, span_to_read y) { return sum(x) + sum(y); });
  dlbridge::def(m, "without_gil", &without_gil, py::arg("x"), py::arg("y"),
                py::call_guard<py::gil_scoped_release>());
}
