// The inline bodies of tensor_type.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/tensor/tensor_type.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
ref create_tensor_type() noexcept;
}  // namespace python::detail

namespace python {
PyTypeObject* tensor_type() noexcept {
  static lazy_object type;
  return reinterpret_cast<PyTypeObject*>(type.get(&detail::create_tensor_type));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
