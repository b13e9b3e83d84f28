// optional_attribute, import_function, type_attribute, dict_item, classes_of, base_of: look up
// attributes, functions of modules, and the bases of classes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Looks up an attribute that an object may lack.
/// @return the attribute; empty when the lookup raised. The function clears an AttributeError; any
///   other exception stays pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
ref optional_attribute(PyObject* object, PyObject* name) noexcept;
/// The same for a name of characters.
ref optional_attribute(PyObject* object, char const* name) noexcept;

namespace detail {
// An attribute of a module, which is imported if necessary; empty, with an exception set, on
// failure.
DLBRIDGE_COLD ref import_function(char const* module, char const* function) noexcept;
}  // namespace detail

/// The attribute of a type or of its bases as it is stored, without a call of Python code.
/// @return the attribute; empty, without an exception, when there is none.
/// @pre The caller holds the GIL.
ref type_attribute(PyTypeObject* type, PyObject* name) noexcept;

/// The value of a key in a dict.
/// @return the value; empty, without an exception, when there is none; empty with one after an
///   exception of the key.
/// @par Thread and GIL
/// The caller holds the GIL. Another thread may change the dict meanwhile.
ref dict_item(PyObject* dict, PyObject* key) noexcept;

/// A class and those from which it is derived, in the order in which attributes are looked up. The
/// tuple stays as it is when Python code, or another thread, gives the class other bases.
/// @return the tuple; empty for a class that is not complete.
/// @pre The caller holds the GIL.
DLBRIDGE_LOCAL ref classes_of(PyTypeObject* type) noexcept;

/// The class from which the objects of a class have their layout.
/// @return the class; empty for object.
/// @pre The caller holds the GIL.
DLBRIDGE_LOCAL ref base_of(PyTypeObject* type) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/detail/lookups.ipp>
#endif
