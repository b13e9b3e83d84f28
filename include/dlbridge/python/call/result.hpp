// give_result: converts a tensor that a C++ function returns to a Python object; returns: names its
// library.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <dlbridge/abi.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Whether an extra argument of def is dlbridge's, so that the binding library does not receive it.
template <class Extra>
constexpr bool is_own_extra() noexcept;

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
managed_tensor release(Tensor&& t) noexcept;
}  // namespace detail

/// Whether T is an owning tensor type, which a function may return by value.
template <class T>
constexpr bool is_result = detail::result_kind<T>::is_tensor;

/// Converts a C++ result to a Python object of the first of these libraries that applies: `as`,
/// the origin of a result of type argument, the library of `first_argument`, that of the call whose
/// C++ function runs, the one that init states. Without any of them the object is a Tensor.
/// @param result the tensor, as an rvalue, or an empty optional for None
/// @param first_argument the object of the first tensor argument, or null
/// @param as the library, and whether the result may be rounded
/// @return the object, or an empty ref with a Python exception set
/// @par Ownership
/// The function takes ownership of the tensor, and frees it on failure.
/// @pre The caller holds the GIL.
template <class Result>
ref give_result(Result&& result, PyObject* first_argument = nullptr,
                result_choice as = {}) noexcept;
/// Converts a result that may be empty, which gives None, in the same way.
template <class Result>
ref give_result(std::optional<Result>&& result, PyObject* first_argument = nullptr,
                result_choice as = {}) noexcept;

/// Converts a tensor to a Python object for an attribute, an element of a dict, an argument of a
/// Python function or of an exception.
/// @param tensor an owning tensor, as an rvalue, or an empty optional for None
/// @param as the library, such as library::numpy; without it, as of give_result
/// @return the object
/// @throws python_error with the exception of the library, such as ImportError
/// @par Ownership
/// Takes the tensor, and frees it on failure.
/// @pre The caller holds the GIL.
template <class Tensor>
ref to_python(Tensor&& tensor, result_choice as = {});
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/result.inl>
