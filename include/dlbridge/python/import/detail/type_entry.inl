// The inline bodies of type_entry.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/import/detail/type_entry.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
unsigned tag_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  return _Py_atomic_load_uint_relaxed(&type->tp_version_tag);  // another thread may assign it
#else
#if PY_VERSION_HEX < 0x030A0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) {
    return 0;
  }
#endif
  return type->tp_version_tag;
#endif
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
