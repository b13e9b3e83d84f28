// The inline bodies of or_other.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/copy.hpp>
#include <dlbridge/python/call/or_other.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/requirement.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
template <class T>
constexpr number_type number_type_of() noexcept {
  return {dtype_of<T>(), sizeof(T), [](PyObject* object, void* out) noexcept {
            if constexpr (has_parts<T>) {
              return load_complex(object, out, sizeof(T) == 2 * sizeof(double));
            } else {
              return scalar<T>::load(object, *static_cast<T*>(out));
            }
          }};
}

template <class P>
constexpr bool other_kind<P, numbers>::require_elements() noexcept {
  static_assert(std::is_void_v<number_of<P>> || std::is_const_v<typename element_of<P>::type>,
                "dlbridge: or_other<P, numbers> reads its elements, as what a function wrote to "
                "the copy of a list would be lost. Write T const");
  static_assert(std::is_void_v<number_of<P>> || is_scalar<number_of<P>> || has_parts<number_of<P>>,
                "dlbridge: or_other<P, numbers> has elements of bool, an integer, float, double "
                "or a complex number");
  return true;
}

template <class P>
constexpr bool read_only_kind<P>::require_elements() noexcept {
  static_assert(
      fits,
      "dlbridge: or_other<P, arrays> and or_other<P, arrow> read their elements, as what "
      "a function wrote to a copy would be lost, and Arrow's memory is immutable. Write T "
      "const");
  return true;
}

template <class P>
inline managed_tensor other_kind<P, numbers>::read(PyObject* object) noexcept {
  // Not in or_other: Clang prints further errors for a function with an invalid parameter type.
  static_assert(!std::is_void_v<number_of<P>>,
                "dlbridge: or_other<P, numbers> copies numbers to elements of P. Write a P with "
                "an element type");
  constexpr number_type read_as = number_type_of<std::conditional_t<fits, number_of<P>, float>>();
  managed_tensor result = number_reader(read_as).read(object);
  if constexpr (parameter<P>::required().order == layout::column_major) {
    managed_tensor const rows = std::move(result);
    if (rows) {
      guarded([&] { result = copy_of(rows.view(), layout::column_major); });
    }
  }
  return result;
}

template <class P, class... Kinds>
inline bool other_parameter<P, std::tuple<Kinds...>>::is_other(PyObject* object) noexcept {
  return type_cache::get(Py_TYPE(object)).dlpack == nullptr &&
         (other_kind<P, Kinds>::accepts(object) || ...);
}

template <class P, class... Kinds>
inline managed_tensor other_parameter<P, std::tuple<Kinds...>>::import_other(
    PyObject* object) noexcept {
  managed_tensor result;
  static_cast<void>(((other_kind<P, Kinds>::accepts(object) &&
                      (result = other_kind<P, Kinds>::read(object), true)) ||
                     ...));
  return result;
}
}  // namespace python::detail

namespace python {
template <class P>
struct parameter<row_major_of<P>> : parameter<P> {
  static constexpr requirement required() noexcept {
    requirement need = parameter<P>::required();
    need.order = layout::row_major;
    need.converts = true;
    return need;
  }
  static managed_tensor convert(tensor_view const& source, report&) { return copy_of(source); }
  static row_major_of<P> make(imported_tensor& from, PyObject* object) noexcept {
    return parameter<P>::make(from, object);
  }
};
template <class P>
struct detail::result_kind<row_major_of<P>> : detail::result_kind<P> {};
}  // namespace python
DLBRIDGE_END_NAMESPACE
