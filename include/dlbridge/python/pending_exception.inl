// The inline bodies of pending_exception.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
inline error_keeper::error_keeper() noexcept : pending_(PyErr_Occurred() != nullptr) {
  if (pending_) {
#if PY_VERSION_HEX >= 0x030C0000
    value_ = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&type_, &value_, &traceback_);
#endif
  }
}

inline error_keeper::~error_keeper() {
  if (!pending_ && PyErr_Occurred() == nullptr) {
    return;  // the common case
  }
#if PY_VERSION_HEX >= 0x030C0000
  api<PyErr_SetRaisedException>(value_);
#else
  api<PyErr_Restore>(type_, value_, traceback_);
#endif
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
