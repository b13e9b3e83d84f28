// The inline bodies of number_reader.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <dlbridge/convert.hpp>
#include <dlbridge/python/call/detail/number_reader.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Writes a number to both parts of a complex element.
bool load_complex(PyObject* object, void* out, bool is_double) noexcept;

// Whether an object is an integer: an int, or one with __index__ except a bool of NumPy.
bool is_integer_object(PyObject* object) noexcept;

// Raises the TypeError of a number that a dtype lacks.
DLBRIDGE_COLD void refuse_number(PyObject* object, dtype type) noexcept;

// Reads a number by `load`, and writes its value to an element, which must have it.
template <class T, class Number>
bool load_by_value(PyObject* object, void* out,
                   bool (*load)(PyObject*, Number&) noexcept) noexcept {
  Number number{};
  if (!load(object, number)) {
    return false;
  }
  dlbridge::detail::element_like<T> element{};
  if (!dlbridge::detail::try_convert(number, element)) {
    refuse_number(object, dtype_of<T>());
    return false;
  }
  std::memcpy(out, &element, sizeof element);
  return true;
}

inline bool load_pair(PyObject* object, dlbridge::detail::complex_pair<double>& out) noexcept {
  return load_complex(object, &out, true);
}

// ByValue: whether a number is refused whose value T lacks.
template <class T, bool ByValue>
constexpr number_type number_type_of() noexcept {
  return {dtype_of<T>(), sizeof(T), [](PyObject* object, void* out) noexcept {
            if constexpr (ByValue) {
              constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
              using integer = std::conditional_t<is_integer, T, std::int64_t>;
              if (is_integer_object(object)) {
                return load_by_value<T>(object, out, &scalar<integer>::load);
              }
              if constexpr (has_parts<T>) {
                return load_by_value<T>(object, out, &load_pair);
              } else {
                return load_by_value<T>(object, out, &scalar<double>::load);
              }
            } else if constexpr (has_parts<T>) {
              return load_complex(object, out, sizeof(T) == 2 * sizeof(double));
            } else {
              return scalar<T>::load(object, *static_cast<T*>(out));
            }
          }};
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
