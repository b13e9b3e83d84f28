// The bodies of element_argument.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/element_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_NOINLINE DLBRIDGE_API ref tuple_of_sequence(PyObject* object, bool convert,
                                                     Py_ssize_t size) noexcept {
  bool const is_refused_iterator = !convert && PyIter_Check(object) != 0;
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object) ||
      PyDict_Check(object) || is_refused_iterator ||
      (!has_iter(Py_TYPE(object)) && PySequence_Check(object) == 0)) {
    api<PyErr_Format>(PyExc_TypeError, "expected a sequence; got %s%s",
                      detail::type_name(Py_TYPE(object)).c_str(),
                      is_refused_iterator ? ". Pass list() of it" : "");
    return ref();
  }
  ref elements = ref::steal(api<PySequence_Tuple>(object));
  if (elements && size >= 0 && detail::tuple_size(elements.get()) != size) {
    api<PyErr_Format>(PyExc_TypeError, "expected a sequence of length %zd; got one of length %zd",
                      size, detail::tuple_size(elements.get()));
    return ref();
  }
  return elements;
}

DLBRIDGE_NOINLINE DLBRIDGE_API ref items_of_mapping(PyObject* object) noexcept {
  ref items = PyMapping_Check(object) != 0 ? ref::steal(api<PyMapping_Items>(object)) : ref();
  if (!items && (PyErr_Occurred() == nullptr ||
                 (PyErr_ExceptionMatches(PyExc_AttributeError) && !is_raised_by_python()))) {
    api<PyErr_Clear>();
    api<PyErr_Format>(PyExc_TypeError, "expected a dict; got %s",
                      detail::type_name(Py_TYPE(object)).c_str());
  }
  for (Py_ssize_t i = 0; items && i < detail::list_size(items.get()); ++i) {
    PyObject* const item = detail::list_item(items.get(), i);
    if (!PyTuple_Check(item) || detail::tuple_size(item) != 2) {
      api<PyErr_Format>(PyExc_TypeError, "expected items of a key and a value");
      items = ref();
    }
  }
  return items;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
