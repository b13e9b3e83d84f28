// The bodies of no_producer.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/import_request.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API bool is_list(PyObject* object) noexcept {
  return PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object);
}

DLBRIDGE_API bool is_numpy_number(PyObject* dtype) noexcept {
  ref const kind = optional_attribute(dtype, "kind");
  char const* const text = kind ? text_in(kind.get()) : nullptr;
  return text != nullptr && *text != '\0' && std::strchr("biufc", *text) != nullptr &&
         optional_attribute(dtype, "isnative");
}

// Whether an object has __array_interface__: without a call of a property, which may raise.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool has_array_interface(PyObject* object) noexcept {
  PyObject* const name = names::get().array_interface;
  if (optional_attribute(reinterpret_cast<PyObject*>(Py_TYPE(object)), name)) {
    return true;
  }
  ref const own = PyErr_Occurred() == nullptr ? optional_attribute(object, "__dict__") : ref();
  return own && PyDict_Check(own.get()) && dict_item(own.get(), name);
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool is_array_like(PyObject* object) noexcept {
  ref item = ref::borrow(object);
  for (int i = 0; i < 64 && is_list(item.get()) && api<PySequence_Size>(item.get()) > 0; ++i) {
    item = ref::steal(api<PySequence_GetItem>(item.get(), 0));
    if (!item) {
      return false;
    }
  }
  if (PyErr_Occurred() != nullptr || PyUnicode_Check(item.get()) || PyType_Check(item.get())) {
    return false;
  }
  if (is_list(item.get()) || PyLong_Check(item.get()) || PyFloat_Check(item.get()) ||
      PyComplex_Check(item.get()) || PyObject_CheckBuffer(item.get()) != 0) {
    return true;
  }
  bool const converts = PySequence_Check(object) != 0 || optional_attribute(object, "__array__");
  ref const dtype = converts ? optional_attribute(object, names::get().dtype) : ref();
  return dtype ? is_numpy_number(dtype.get()) && !optional_attribute(object, "todense")
               : PyErr_Occurred() == nullptr && has_array_interface(object);
}

DLBRIDGE_NOINLINE DLBRIDGE_API char const* remedy_for_object(PyObject* object) noexcept {
  return PyBytes_Check(object) ? "Pass numpy.frombuffer() of it, with its dtype"
         : !PyType_Check(object) && optional_attribute(object, "to_dlpack")
             ? "Pass the capsule that its to_dlpack() returns"
         : PyErr_Occurred() == nullptr && !PyType_Check(object) &&
                 optional_attribute(object, "todense")
             ? "Pass x.todense()"
         : PyErr_Occurred() == nullptr && is_array_like(object) ? remedy_of_array_like
                                                                : nullptr;
}

DLBRIDGE_API bool lacks_dlpack(PyObject* object) noexcept {
  ref const method = optional_attribute(object, names::get().dlpack);
  return !method || method.get() == Py_None;
}

DLBRIDGE_API void set_no_producer(PyObject* object, bool is_class, remedy_function* remedy,
                                  char const* others) noexcept {
  char const* const advice = is_class            ? "Pass an object of it"
                             : remedy != nullptr ? remedy(object)
                                                 : remedy_for_object(object);
  if (PyErr_Occurred() != nullptr) {
    return;
  }
  PyTypeObject* const named = is_class ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object);
  report r = refusal(errc::not_a_producer, "an object with __dlpack__ and __dlpack_device__",
                     is_class ? "the class " : "one of type ", advice);
  r.expected.append(others);
  r.got.append(type_name(named).c_str());
  set_error(r);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
