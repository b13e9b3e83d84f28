// The inline bodies of object_owner.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
void release_object(PyObject* object) noexcept {
  if (object == nullptr || !interpreter_alive()) {
    return;
  }
  gil_hold const gil;
  error_keeper const pending;
  decref(object);
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
