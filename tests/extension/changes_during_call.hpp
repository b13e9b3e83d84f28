// Functions of every kind of parameter, with a second argument whose Python code may change or free
// the tensor of the first one. Both bindings bind them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python.hpp>

namespace changes_during_call {
using dlbridge::any_argument;
using dlbridge::any_tensor;
using dlbridge::argument;
using dlbridge::buffers;
using dlbridge::convert;
using dlbridge::managed_tensor;
using dlbridge::numbers;
using dlbridge::or_other;
using dlbridge::tensor;
using dlbridge::tensor_span;
using dlbridge::tensor_view;

// A number or a producer, whose Python code runs after the first argument was imported.
using later = or_other<convert<double>, numbers>;

/// Reads every element of a tensor of float64, float32 or uint8.
inline double sum_of(tensor_view const& x, int dimension, std::int64_t at) {
  if (dimension < x.rank()) {
    double sum = 0;
    for (std::int64_t i = 0; i < x.extent(dimension); ++i) {
      sum += sum_of(x, dimension + 1, at + i * x.stride(dimension));
    }
    return sum;
  }
  char const* const data = static_cast<char const*>(x.data()) + x.byte_offset();
  switch (x.dtype().bits) {
    case 64:
      return reinterpret_cast<double const*>(data)[at];
    case 32:
      return static_cast<double>(reinterpret_cast<float const*>(data)[at]);
    default:
      return static_cast<double>(reinterpret_cast<std::uint8_t const*>(data)[at]);
  }
}

/// The sum of all elements of a parameter.
struct total {
  double operator()(double x) const { return x; }
  template <class Tensor>
  double operator()(Tensor const& x) const {
    return sum_of(x.view(), 0, 0);
  }
  template <class T>
  double operator()(std::optional<T> const& x) const {
    return x ? (*this)(*x) : 0;
  }
  template <class T>
  double operator()(std::vector<T> const& x) const {
    double sum = 0;
    for (T const& each : x) {
      sum += (*this)(each);
    }
    return sum;
  }
  template <class T>
  double operator()(std::array<T, 2> const& x) const {
    return (*this)(x[0]) + (*this)(x[1]);
  }
  template <class T>
  double operator()(std::map<std::string, T> const& x) const {
    double sum = 0;
    for (auto const& each : x) {
      sum += (*this)(each.second);
    }
    return sum;
  }
  template <class T>
  double operator()(std::tuple<T, later> const& x) const {
    return (*this)(std::get<0>(x)) + (*this)(std::get<1>(x));
  }
  template <class T>
  double operator()(std::variant<double, T> const& x) const {
    return std::visit(*this, x);
  }
};

// The other candidates of an overload set: the first one fits nothing, and the last one takes what
// the others refuse.
inline double of_complex(tensor_span<std::complex<float> const>, later const&) { return -1; }
inline double of_any(any_argument const& x, later const&) { return total()(x); }

/// @param bind by_def, by_fast, by_overloads and by_library bind one function (name, function) each
template <class Kind, class Bind>
void add_container(Bind& bind, char const* name) {
  auto const function = [](Kind const& x, later const&) { return total()(x); };
  bind.by_def(name, function);
  bind.by_fast(name, function);
  bind.by_overloads(name, &of_complex);
  bind.by_overloads(name, function);
  bind.by_overloads(name, &of_any);
}
template <class Kind, class Bind>
void add_tensor(Bind& bind, char const* name) {
  add_container<Kind>(bind, name);
  bind.by_library(name, [](Kind const& x, later const&) { return total()(x); });
}

template <class Bind>
void add(Bind bind) {
  add_tensor<tensor_span<double const>>(bind, "span");
  add_tensor<tensor_span<double>>(bind, "span_to_write");
  add_tensor<tensor_span<double const, dlbridge::dynamic_rank, dlbridge::converted>>(
      bind, "converted_span");
  add_tensor<tensor<double const>>(bind, "tensor");
  add_tensor<tensor<double>>(bind, "tensor_to_write");
  add_tensor<argument<double const>>(bind, "argument");
  add_tensor<any_tensor>(bind, "any_tensor");
  add_tensor<any_argument>(bind, "any_argument");
  add_tensor<managed_tensor>(bind, "managed_tensor");
  add_tensor<convert<double>>(bind, "convert");
  add_tensor<or_other<tensor_span<double const>, numbers>>(bind, "or_numbers_span");
  add_tensor<or_other<convert<double>, numbers>>(bind, "or_numbers_convert");
  add_tensor<or_other<tensor_span<double const>, buffers>>(bind, "or_buffer_span");
  add_tensor<or_other<argument<double const>, buffers>>(bind, "or_buffer_argument");
  add_tensor<or_other<convert<double>>>(bind, "or_numbers_or_buffer");
  add_tensor<std::optional<tensor_span<double const>>>(bind, "optional_span");
  add_tensor<std::optional<tensor<double const>>>(bind, "optional_tensor");
  add_container<std::vector<tensor_span<double const>>>(bind, "vector_of_spans");
  add_container<std::vector<tensor<double const>>>(bind, "vector_of_tensors");
  add_container<std::vector<or_other<convert<double>, numbers>>>(bind, "vector_of_or_numbers");
  add_container<std::array<tensor<double const>, 2>>(bind, "array_of_two");
  add_container<std::tuple<tensor<double const>, later>>(bind, "tuple_of_two");
  add_container<std::map<std::string, any_tensor>>(bind, "map_of_any");
  add_container<std::variant<double, tensor<double const>>>(bind, "variant");
  add_container<std::vector<std::variant<double, tensor_span<double const>>>>(bind,
                                                                              "vector_of_variants");
  add_container<std::optional<std::vector<tensor<double const>>>>(bind, "optional_vector");
}
}  // namespace changes_during_call
