// The inline bodies of api.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
bool interpreter_alive() noexcept { return Py_IsInitialized() != 0 && !detail::is_finalizing(); }

void decref(PyObject* object) {
  detail::api_guard guard;
  Py_DECREF(object);
  guard.returned();
}

void xdecref(PyObject* object) {
  if (object != nullptr) {
    decref(object);
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
