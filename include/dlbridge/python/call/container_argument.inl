// The inline bodies of container_argument.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/container_argument.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
template <class Argument>
constexpr bool takes_others = false;
template <class P>
constexpr bool takes_others<tensor_argument<P>> = parameter<P>::takes_others;

// As first_in, but null for a number, a list or a buffer in place of a tensor.
template <class Argument>
PyObject* first_array_in(Argument& argument) noexcept {
  return first_in(argument);
}
template <class P>
PyObject* first_array_in(tensor_argument<P>& argument) noexcept {
  PyObject* const object = first_in(argument);
  if constexpr (takes_others<tensor_argument<P>>) {
    return object != nullptr && parameter<P>::is_other(object) ? nullptr : object;
  } else {
    return object;
  }
}

template <class... Arguments>
PyObject* first_tensor_in(std::tuple<Arguments...>& arguments) noexcept {
  return std::apply(
      [](auto&... each) {
        PyObject* first = nullptr;
        static_cast<void>(((first = first_array_in(each), first == nullptr) && ...));
        if constexpr ((takes_others<std::remove_reference_t<Arguments>> || ...)) {
          static_cast<void>(
              ((first = first != nullptr ? first : first_in(each), first == nullptr) && ...));
        }
        return first;
      },
      arguments);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
