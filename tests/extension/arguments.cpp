// SPDX-License-Identifier: BSD-3-Clause
// Every kind of tensor parameter, each also as an optional; and functions of several parameters.
#include <dlbridge/broadcast.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/python/import/detail/torch_tensor.hpp>
#include <dlbridge/python/import/import_tensor.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "library_casters.hpp"
#include "registration.hpp"

namespace {

using vector_shape = dlbridge::shape<dlbridge::dynamic_extent>;
using span_to_read = dlbridge::tensor_span<float const, vector_shape>;
using span_to_write = dlbridge::tensor_span<float, vector_shape>;
using owned = dlbridge::tensor<float const, vector_shape>;
using owned_to_write = dlbridge::tensor<float, vector_shape>;
using argument_to_read = dlbridge::argument<float const, vector_shape>;

// A tensor parameter and its optional. The result is 0 for None, as a fast function cannot return
// an optional number.
template <class Kind>
void add_kind(binder& functions, std::string const& name) {
  functions.add(name.c_str(), [](Kind x) { return address_of(x); });
  auto const of_optional = [](std::optional<Kind> x) { return x ? address_of(*x) : 0; };
  functions.add(("optional_" + name).c_str(), of_optional);
}

double sum(span_to_read const& x) {
  double total = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    total += static_cast<double>(x(i));
  }
  return total;
}

// The address, extents, strides and read-only flag of a tensor of any rank.
template <class T>
void add_describe(py::module_& m) {
  m.def("describe", [](dlbridge::tensor_span<T const> const& x) -> py::object {
    py::list extents;
    py::list strides;
    for (int i = 0; i < x.rank(); ++i) {
      extents.append(x.extent(i));
      strides.append(x.stride(i));
    }
    return py::make_tuple(address_of(x), std::move(extents), std::move(strides));
  });
}

void scale(span_to_write const& x, double factor) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    x(i) = static_cast<float>(static_cast<double>(x(i)) * factor);
  }
}

// The sum of both tensors, or -1 if the function holds the GIL.
double without_gil(argument_to_read x, owned const& y) {
  return dlbridge::python::detail::holds_gil() ? -1 : sum(x.span()) + sum(y.span());
}

// A copy of any object, by the function for code that makes its own requests.
dlbridge::managed_tensor consumed_copy(py::object const& x) {
  dlbridge::python::import_request request;
  request.copy = dlbridge::copy_policy::always;
  dlbridge::managed_tensor copy = dlbridge::python::import_tensor(x.ptr(), request);
  if (!copy) {
    throw py::error_already_set();
  }
  return copy;
}

template <class Call>
std::string refusal_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (dlbridge::error const& e) {
    return e.what();
  }
  return "accepted";
}

// The refusals of every function that takes a view of an argument from which was moved.
std::vector<std::string> refusals_of_moved(dlbridge::any_argument any, argument_to_read x) {
  dlbridge::any_argument const kept_any = std::move(any);
  argument_to_read const kept = std::move(x);
  auto const count = [](auto span) { return span.count(); };
  // NOLINTBEGIN(bugprone-use-after-move)
  return {refusal_of([&] { return visit(any, count); }),
          refusal_of([&] { return visit(std::as_const(any), count); }),
          refusal_of([&] { return any.as<float const>(); }),
          refusal_of([&] { return dlbridge::copy_of(any); }),
          refusal_of([&] { return visit(x, count); }),
          refusal_of([&] { return dlbridge::copy_of(x); }),
          refusal_of([&] { return dlbridge::broadcast_to<float>(x, {2, 3}); })};
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace

void add_arguments(py::module_& m) {
  m.def("consumed_copy", &consumed_copy);
  dlbridge::def(m, "refusals_of_moved", &refusals_of_moved);
  // The number of elements that visit, copy_of and broadcast_to find in an argument.
  dlbridge::def(m, "counts", [](argument_to_read const& x) {
    dlbridge::managed_tensor const copy = dlbridge::copy_of(x);
    return std::vector<std::int64_t>{visit(x, [](auto span) { return span.count(); }),
                                     copy.view().count(),
                                     dlbridge::broadcast_to<float>(x, {2, 3}).count()};
  });
  // Whether the functions of PyTorch describe an object, after a call that tested them.
  m.def("reads_torch", [](py::object const& x) {
    DLTensor tensor{};
    return dlbridge::python::detail::read_torch_tensor(x.ptr(), tensor);
  });
  binder functions(m);
  add_kind<span_to_read>(functions, "span_to_read");
  add_kind<span_to_write>(functions, "span_to_write");
  add_kind<owned>(functions, "owned");
  add_kind<owned_to_write>(functions, "owned_to_write");
  add_kind<argument_to_read>(functions, "argument");
  add_kind<dlbridge::any_tensor>(functions, "any_tensor");
  add_kind<dlbridge::managed_tensor>(functions, "managed_tensor");

  functions.add("sum", [](span_to_read x) { return sum(x); });
  functions.add("complex_sum",
                [](dlbridge::tensor_span<std::complex<float> const, vector_shape> x) {
                  std::complex<float> total;
                  for (std::int64_t i = 0; i < x.extent(0); ++i) {
                    total += x(i);
                  }
                  return static_cast<double>(total.imag());
                });
  add_describe<bool>(m);
  add_describe<std::int16_t>(m);
  add_describe<float>(m);
  add_describe<std::complex<double>>(m);
  // The extent and the stride of the first of two arguments, as 100 * extent + stride.
  auto const first_of_two = [](span_to_read x, span_to_read) {
    return 100 * x.extent(0) + x.stride(0);
  };
  dlbridge::def(functions.by_def, "first_of_two", first_of_two);
  functions.by_library.def("first_of_two", first_of_two);
  dlbridge::def_fast(functions.by_fast, "first_of_two", first_of_two);
  dlbridge::def(m, "scale", &scale, py::arg("x"), py::arg("factor") = 2.0, "Multiplies in place.");
  dlbridge::def(
      m, "join",
      [](argument_to_read const& x, span_to_read y, std::string const&) { return sum(y) + x(0); },
      py::arg("x"), py::arg("y"), py::kw_only(), py::arg("how") = "here");
  dlbridge::def(m, "unnamed", [](span_to_read x, span_to_read y) { return sum(x) + sum(y); });
  dlbridge::def(m, "without_gil", &without_gil, py::arg("x"), py::arg("y"),
                py::call_guard<py::gil_scoped_release>());
}
