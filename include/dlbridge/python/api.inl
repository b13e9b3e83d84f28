// The inline bodies of api.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
bool interpreter_alive() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
  return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

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
