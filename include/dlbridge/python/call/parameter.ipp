// The bodies of parameter.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/parameter.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API any_tensor parameter<any_tensor>::make(imported_tensor& from,
                                                    PyObject* object) noexcept {
  return any_tensor(from.take_to_keep(object));
}

DLBRIDGE_API managed_tensor parameter<managed_tensor>::make(imported_tensor& from,
                                                            PyObject*) noexcept {
  return std::move(from.owned());
}

DLBRIDGE_API any_argument parameter<any_argument>::make(imported_tensor& from,
                                                        PyObject* object) noexcept {
  return any_argument(from.take_to_keep(object), origin(object, true));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
