// The inline bodies of container_argument.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/container_argument.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
template <class... Arguments>
PyObject* first_tensor_in(std::tuple<Arguments...>& arguments) noexcept {
  return std::apply(
      [](auto&... each) {
        PyObject* first = nullptr;
        static_cast<void>(((first = first_in(each), first == nullptr) && ...));
        return first;
      },
      arguments);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
