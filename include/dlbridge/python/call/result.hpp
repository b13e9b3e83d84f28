// give_result: converts a tensor that a C++ function returns to a Python object; returns: names its
// library.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/detail/path_to_library.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace python {
namespace detail {
// Whether an extra argument of def is dlbridge's, so that the binding library does not receive it.
template <class Extra>
constexpr bool is_own_extra() noexcept {
  static_assert(!std::is_same_v<Extra, library>,
                "dlbridge: a library is no extra argument of def. Write dlbridge::returns{...} "
                "with it, such as dlbridge::returns{dlbridge::library::numpy}");
  return std::is_same_v<Extra, returns> || std::is_same_v<Extra, library>;
}

template <class T>
struct result_kind {
  static constexpr bool is_tensor = is_tensor_parameter<T> && !parameter<T>::borrows;
  static constexpr bool has_origin = false;
};
template <class T, class Shape, class... Constraints>
struct result_kind<argument<T, Shape, Constraints...>> {
  static constexpr bool is_tensor = true;
  static constexpr bool has_origin = true;
};
template <>
struct result_kind<any_argument> {
  static constexpr bool is_tensor = true;
  static constexpr bool has_origin = true;
};

// The tensor of a result, which is a managed_tensor, or an object that owns one.
template <class Tensor>
managed_tensor release(Tensor&& t) noexcept {
  if constexpr (std::is_base_of_v<managed_tensor, std::decay_t<Tensor>>) {
    return std::forward<Tensor>(t);
  } else {
    return std::forward<Tensor>(t).release();
  }
}
}  // namespace detail

/// Whether T is an owning tensor type, which a function may return by value.
template <class T>
constexpr bool is_result = detail::result_kind<T>::is_tensor;

/// Converts a C++ result to a Python object of the first of these libraries that applies: `as`,
/// the origin of a result of type argument, the library of `first_argument`. Without any of them
/// the object is a Tensor.
/// @param result the tensor, as an rvalue, or an empty optional for None
/// @param first_argument the object of the first tensor argument, or null
/// @param as the library, and whether the result may be rounded
/// @return the object, or an empty ref with a Python exception set
/// @par Ownership
/// The function takes ownership of the tensor, and frees it on failure.
/// @par Thread and GIL
/// The caller holds the GIL.
template <class Result>
ref give_result(Result&& result, PyObject* first_argument = nullptr, returns as = {}) noexcept {
  using type = std::decay_t<Result>;
  static_assert(
      !std::is_lvalue_reference_v<Result>,
      "dlbridge: a tensor is returned by value. Take it by value, and return std::move of it");
  if constexpr (std::is_lvalue_reference_v<Result>) {
    return ref();  // only the assertion is printed
  } else if (as.which) {
    return give_as(*as.which, detail::release(std::forward<Result>(result)), as.narrows);
  } else if constexpr (detail::result_kind<type>::has_origin) {
    return std::forward<Result>(result).give(as.narrows);
  } else {
    managed_tensor m = detail::release(std::forward<Result>(result));
    return first_argument != nullptr ? origin(first_argument).give(std::move(m), as.narrows)
                                     : give_own(std::move(m));
  }
}
template <class Result>
ref give_result(std::optional<Result>&& result, PyObject* first_argument = nullptr,
                returns as = {}) noexcept {
  return result ? python::give_result(std::move(*result), first_argument, as)
                : ref::borrow(Py_None);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
