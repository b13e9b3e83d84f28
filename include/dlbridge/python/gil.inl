// The inline bodies of gil.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/gil.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
bool holds_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked() != nullptr;
#else
  PyThreadState* const current = _PyThreadState_UncheckedGet();
  return current != nullptr && current == PyGILState_GetThisThreadState();
#endif
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
