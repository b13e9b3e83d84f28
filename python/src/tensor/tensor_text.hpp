// show_tensor: describes a Tensor in one line, with its elements if they are few; the picture of
// its memory for notebooks.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/small_floats.hpp>

#include "core.hpp"
#include "tensor/element_values.hpp"
#include "tensor/tensor_values.hpp"

namespace core DLBRIDGE_LOCAL {
// The number with the fewest digits that a float dtype rounds to the given number: 0.1 for
// 0.100000001490116, the float32. Python then shows it with these digits. The formats of ml_dtypes
// have six digits, as ml_dtypes shows them: in float8_e5m2, 0.8 would be rounded to 0.75. Their
// whole numbers of at most 24 bits stay as they are.
inline double fewest_digits(double number, dtype type) noexcept {
  bool const is_of_ml_dtypes = type.code != kDLFloat;
  bool const is_short =
      is_of_ml_dtypes && std::trunc(number) == number && std::fabs(number) <= 1 << 24;
  if (!std::isfinite(number) || number == 0 || is_short || type.bits == 64) {
    return number;
  }
  for (int digits = is_of_ml_dtypes ? 6 : 1; digits < 17; ++digits) {
    char text[40];
    static_cast<void>(std::snprintf(text, sizeof text, "%.*g", digits, number));
    double const candidate = std::strtod(text, nullptr);
    float const rounded =
        type.bits == 16 ? float{float16(candidate)} : static_cast<float>(candidate);
    if (is_of_ml_dtypes || double{rounded} == number) {
      return candidate;
    }
  }
  return number;
}

// A number as repr shows it.
DLBRIDGE_COLD inline ref shown_value(tensor_view const& view, std::int64_t offset) {
  ref value = value_at(view, offset);
  dtype const type = view.dtype();
  if (PyFloat_CheckExact(value.get())) {
    return to_python(fewest_digits(PyFloat_AS_DOUBLE(value.get()), type));
  }
  if (PyComplex_CheckExact(value.get()) && type.bits == 64) {
    Py_complex const number = reinterpret_cast<PyComplexObject*>(value.get())->cval;
    return checked(api<PyComplex_FromDoubles>(fewest_digits(number.real, dtype_of<float>()),
                                              fewest_digits(number.imag, dtype_of<float>())));
  }
  return value;
}

// The elements that repr shows: all of a small tensor, else the first and last ones of each
// dimension, if these are few.
constexpr std::int64_t most_shown = 40;
constexpr std::int64_t edge = 3;

inline bool is_shortened(tensor_view const& view, int dimension) noexcept {
  return view.count() > most_shown && view.extent(dimension) > 2 * edge;
}

inline bool shows_values(tensor_view const& view) noexcept {
  // The memory of other devices may not be ready, and repr waits for no stream.
  if (view.device().type != kDLCPU || view.empty() || !has_value(view.dtype())) {
    return false;
  }
  std::int64_t shown = 1;
  for (int i = 0; i < view.rank() && shown <= most_shown; ++i) {
    shown *= is_shortened(view, i) ? 2 * edge : view.extent(i);
  }
  return shown <= most_shown;
}

// Nested lists, with Ellipsis for the elements between the first and the last ones.
DLBRIDGE_COLD inline ref shown_values(tensor_view const& view, int dimension, std::int64_t offset) {
  if (dimension == view.rank()) {
    return shown_value(view, offset);
  }
  ref list = checked(api<PyList_New>(0));
  bool const is_short = is_shortened(view, dimension);
  std::int64_t const extent = view.extent(dimension);
  for (std::int64_t i = 0; i < extent; ++i) {
    bool const is_gap = is_short && i == edge;
    std::int64_t const step = wrapping_product(i, view.stride(dimension));
    ref const item =
        is_gap ? ref::borrow(Py_Ellipsis) : shown_values(view, dimension + 1, offset + step);
    require(api<PyList_Append>(list.get(), item.get()) == 0);
    i = is_gap ? extent - edge - 1 : i;
  }
  return list;
}

// <dlbridge.Tensor float32[2, 3] on cpu, row-major, read-only: [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]>
DLBRIDGE_COLD inline ref show_tensor(PyObject* self) {
  tensor_view const view = tensor_in(self).view;
  bounded_text<480> text("<dlbridge.Tensor ");
  text.append(name_of(view).c_str());
  if (view.is_row_major()) {
    text.append(", row-major");
  } else if (view.is_column_major()) {
    text.append(", column-major");
  } else {
    std::int64_t strides[max_rank];
    view.copy_strides(strides);
    append_extents(text.append(", strides "), view.rank(), strides);
  }
  text.append(view.read_only() ? ", read-only" : "");
  if (!shows_values(view)) {
    return to_python(text.append(">").c_str());
  }
  ref const kept = ref::borrow(self);
  ref const all = checked(api<PyObject_Repr>(shown_values(view, 0, 0).get()));
  ref const shown =
      checked(api<PyObject_CallMethod>(all.get(), "replace", "ss", "Ellipsis", "..."));
  return checked(api<PyUnicode_FromFormat>("%s: %U>", text.c_str(), shown.get()));
}

// _repr_html_(), which notebooks call.
DLBRIDGE_COLD inline ref show_html(PyObject* object, PyObject*) {
  ref const function =
      checked(import_function("dlbridge.tools.inspection.rendering.html", "tensor_html"));
  return checked(api<PyObject_CallOneArg>(function.get(), object));
}
}  // namespace core DLBRIDGE_LOCAL
