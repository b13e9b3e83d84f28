// The inline bodies of capsule.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/capsule.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
template <class Managed>
managed_tensor take(PyObject* capsule, char const* name, report& why) noexcept {
  auto* const raw = static_cast<Managed*>(api<PyCapsule_GetPointer>(capsule, name));
  if (raw == nullptr || api<PyCapsule_SetName>(capsule, struct_traits<Managed>::used_name()) != 0) {
    return managed_tensor();  // an exception is set; the capsule still owns the tensor
  }
  static_cast<void>(api<PyCapsule_SetDestructor>(capsule, nullptr));
  return managed_tensor::try_steal(raw, why);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
