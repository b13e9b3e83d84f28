// The inline bodies of ref.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class Create>
inline PyObject* lazy_object::get(Create create) noexcept {
  PyObject* const object = object_.load(std::memory_order_acquire);
  return object != nullptr ? object : make(create);
}

template <class Create>
PyObject* lazy_object::make(Create create) noexcept {
  ref created = create();
  PyObject* object = nullptr;
  // Another thread may have created the object meanwhile; that one is then the result.
  if (created && object_.compare_exchange_strong(object, created.get())) {
    object = created.release();
  }
  return object;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
