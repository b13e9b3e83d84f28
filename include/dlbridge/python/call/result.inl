// The inline bodies of result.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/path_to_library.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
template <class Extra>
constexpr bool is_own_extra() noexcept {
  constexpr bool is_library = std::is_convertible_v<Extra, library>;
  static_assert(!is_library,
                "dlbridge: a library is no extra argument of def. Write dlbridge::returns{...} "
                "with it, such as dlbridge::returns{dlbridge::library::numpy}");
  return std::is_base_of_v<result_choice, Extra> || is_library;
}

template <class Tensor>
managed_tensor release(Tensor&& t) noexcept {
  if constexpr (std::is_base_of_v<managed_tensor, std::decay_t<Tensor>>) {
    return std::forward<Tensor>(t);
  } else {
    return std::forward<Tensor>(t).release();
  }
}
}  // namespace detail

template <class Result>
ref give_result(Result&& result, PyObject* first_argument, result_choice as) noexcept {
  using type = std::decay_t<Result>;
  static_assert(
      !std::is_lvalue_reference_v<Result>,
      "dlbridge: a tensor is returned by value. Take it by value, and return std::move of it");
  if constexpr (std::is_lvalue_reference_v<Result>) {
    return ref();  // only the assertion is printed
  } else if constexpr (detail::result_kind<type>::has_origin) {
    return std::forward<Result>(result).give(as);
  } else {
    managed_tensor m = detail::release(std::forward<Result>(result));
    if (as.which) {
      return detail::give_as(*as.which, std::move(m), as.narrows);
    }
    return first_argument != nullptr ? origin(first_argument).give(std::move(m), as.narrows)
                                     : detail::give_default(std::move(m), as.narrows);
  }
}

template <class Result>
ref give_result(std::optional<Result>&& result, PyObject* first_argument,
                result_choice as) noexcept {
  return result ? python::give_result(std::move(*result), first_argument, as)
                : ref::borrow(Py_None);
}

template <class Tensor>
ref to_python(Tensor&& tensor, result_choice as) {
  ref object = python::give_result(std::forward<Tensor>(tensor), nullptr, as);
  if (!object) {
    throw python_error();
  }
  return object;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
