// add_typing_names: gives a module the protocol classes that its signatures name, so that its stub
// needs no import.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Sets the attributes SupportsDLPack, SupportsArray, SupportsArrowArray and SupportsArrowStream of
/// a module, or of the module of a class, if it has none. Stub generators write the classes into
/// the stub of the first module, and imports into others.
/// @return false with an exception set on failure
/// @pre The caller holds the GIL.
DLBRIDGE_COLD bool add_typing_names(PyObject* scope) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/typing_names.ipp>
#endif
