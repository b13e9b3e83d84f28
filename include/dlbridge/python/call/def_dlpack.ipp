// The bodies of def_dlpack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/def_dlpack.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API PyType_Slot buffer_slot() noexcept {
  return {Py_bf_getbuffer, reinterpret_cast<void*>(&detail::buffer_of_producer)};
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
