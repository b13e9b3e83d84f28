// The bodies of object_owner.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API void release_object(PyObject* object) noexcept {
  if (object == nullptr ||
      !(interpreter_alive() || detail::holds_gil() || detail::finalizes_interpreter())) {
    return;
  }
  gil_hold const gil;
  error_keeper const pending;
  decref(object);
}

DLBRIDGE_API object_owner& object_owner::operator=(object_owner other) noexcept {
  std::swap(object_, other.object_);
  return *this;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
