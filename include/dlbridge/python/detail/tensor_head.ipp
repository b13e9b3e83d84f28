// The bodies of tensor_head.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_NOINLINE DLBRIDGE_API bool add_tensor_head(PyTypeObject* type) noexcept {
  ref const capsule = ref::steal(api<PyCapsule_New>(type, tensor_head_name, nullptr));
  return capsule && api<PyObject_SetAttr>(reinterpret_cast<PyObject*>(type),
                                          names::get().tensor_head, capsule.get()) == 0;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool has_tensor_head(PyTypeObject* type) noexcept {
  ref const capsule = type_attribute(type, names::get().tensor_head);
  return capsule && PyCapsule_IsValid(capsule.get(), tensor_head_name) != 0 &&
         api<PyCapsule_GetPointer>(capsule.get(), tensor_head_name) == type;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool read_stream_of_tensor(PyObject* object,
                                                          stream_ref& out) noexcept {
  if (!has_tensor_head(Py_TYPE(object))) {
    return false;
  }
  auto const& head = *reinterpret_cast<tensor_head const*>(object);
  if (head.stream.is_none() || head.stream.is_of_one_thread()) {
    return false;
  }
  out = head.stream.get(stream_device(head.view.device()));
  return true;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
