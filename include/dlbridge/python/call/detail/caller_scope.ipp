// The bodies of caller_scope.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/python/call/detail/caller_scope.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API caller_scope::caller_scope(PyObject* first_argument) noexcept
    : outer_(std::exchange(running(), {first_argument, api<PyEval_GetFrame>()})) {
  Py_XINCREF(first_argument);
}

DLBRIDGE_API caller_scope::~caller_scope() {
  ref::steal(std::exchange(running(), outer_).first_argument);
}

DLBRIDGE_API ref caller_scope::current() noexcept {
  call const& found = running();
  bool const is_running = found.first_argument != nullptr && found.frame == api<PyEval_GetFrame>();
  return is_running ? ref::borrow(found.first_argument) : ref();
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
