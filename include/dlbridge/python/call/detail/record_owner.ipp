// make_record_owner: the self of a Python function that def_fast made. It owns the record of the
// function, and lets pickle find the function by the name of its module.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline ref make_owner_type() noexcept {
  static PyMethodDef methods[] = {
      {"__reduce__",
       [](PyObject* self, PyObject*) -> PyObject* {  // importlib.import_module(module_name)
         ref const importlib = ref::steal(api<PyImport_ImportModule>("importlib"));
         return importlib
                    ? api<Py_BuildValue>(
                          "N(O)", api<PyObject_GetAttrString>(importlib.get(), "import_module"),
                          owner_in(self).module_name)
                    : nullptr;
       },
       METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  constexpr auto destroy = +[](PyObject* self) noexcept {
    PyTypeObject* const type = Py_TYPE(self);
    delete owner_in(self).record;
    decref(owner_in(self).module_name);
    PyObject_Free(self);
    decref(reinterpret_cast<PyObject*>(type));
  };
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy)}, {Py_tp_methods, methods}, {0, nullptr}};
  PyType_Spec spec{"dlbridge.record_owner", static_cast<int>(sizeof(record_owner)), 0,
                   immutable_type | uncallable_type, slots};
  ref type = ref::steal(api<PyType_FromSpec>(&spec));
  if (type) {
    forbid_calls(reinterpret_cast<PyTypeObject*>(type.get()));
  }
  return type;
}

/// @param module_name the name of the module that has the function as an attribute, a str
/// @return the object, or an empty ref with a Python exception set, which destroys the record
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline ref make_record_owner(
    std::unique_ptr<function_record> record, PyObject* module_name) noexcept {
  static lazy_object type;
  PyObject* const known = type.get([]() noexcept { return make_owner_type(); });
  record_owner* const self =
      known != nullptr ? PyObject_New(record_owner, reinterpret_cast<PyTypeObject*>(known))
                       : nullptr;
  if (self == nullptr) {
    return ref();
  }
  Py_INCREF(module_name);
  self->record = record.release();
  self->module_name = module_name;
  return ref::steal(&self->head);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
