// The bodies of container_result.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API bool set_item(PyObject* sequence, Py_ssize_t i, ref item) noexcept {
  if (!item) {
    return false;
  }
  PyList_Check(sequence) ? detail::set_list_item(sequence, i, item.release())
                         : detail::set_tuple_item(sequence, i, item.release());
  return true;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
