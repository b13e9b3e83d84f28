// make_record_owner: the self of a Python function that def_fast made. It owns the record of the
// function, and lets pickle find the function by the name of its module.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
struct record_owner {
  PyObject head;
  function_record* record;
  PyObject* module_name;
};
inline record_owner& owner_in(PyObject* self) noexcept {
  return *reinterpret_cast<record_owner*>(self);
}

/// @param module_name the name of the module that has the function as an attribute, a str
/// @return the object, or an empty ref with a Python exception set, which destroys the record
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD ref make_record_owner(std::unique_ptr<function_record> record,
                                    PyObject* module_name) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/record_owner.ipp>
#endif
