// remedy_for_import: what the caller of from_dlpack passes in place of an object.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/import/arrays.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

#include "core.hpp"

namespace core DLBRIDGE_LOCAL {
// Whether as_tensor() reads an object that is no producer. A lookup that raises counts as none; an
// Arrow array is tried.
// False with an exception set that is not suppressible.
inline bool has_described_memory(PyObject* object) noexcept {
  if (PyType_Check(object)) {
    return false;
  }
  names const& n = names::get();
  bool is_described = PyObject_CheckBuffer(object) != 0;
  for (PyObject* const name : {n.array_interface, n.cuda_array_interface}) {
    if (PyErr_Occurred() == nullptr && !is_described) {
      is_described = static_cast<bool>(optional_attribute(object, name));
      suppress_exception();
    }
  }
  if (is_described || PyErr_Occurred() != nullptr || !has_arrow(object) ||
      !has_array_method(object)) {  // a stream without __array__ may be read once only
    return is_described;
  }
  is_described = static_cast<bool>(from_arrow(object));
  if (!is_described) {
    suppress_exception();
  }
  return is_described;
}

// Whether numpy.asarray() makes an array of numbers of an object: tried, unless the object states a
// dtype of NumPy, as arrays do whose elements are read from a file or computed for it.
DLBRIDGE_COLD inline bool becomes_array(PyObject* object) noexcept {
  ref const dtype = optional_attribute(object, names::get().dtype);
  bool const is_of_numpy = dtype && optional_attribute(dtype.get(), "isnative");
  bool const is_tried = !is_of_numpy && PyErr_Occurred() == nullptr &&
                        (is_list(object) || optional_attribute(object, "__array__"));
  if (PyErr_Occurred() != nullptr || !is_tried) {
    return PyErr_Occurred() == nullptr && is_array_like(object);
  }
  ref const make = import_function("numpy", "asarray");
  ref const array = make ? ref::steal(api<PyObject_CallOneArg>(make.get(), object)) : ref();
  ref const made = array ? optional_attribute(array.get(), names::get().dtype) : ref();
  bool const is_one = made && is_numpy_number(made.get());
  return suppress_exception() && is_one;
}

// The remedy_function of from_dlpack and as_tensor.
DLBRIDGE_COLD inline char const* remedy_for_import(PyObject* object) noexcept {
  if (has_described_memory(object)) {
    return "Call as_tensor(), which also takes buffers, array interfaces and Arrow arrays";
  }
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  char const* const usual = remedy_for_object(object);
  return PyErr_Occurred() != nullptr                         ? nullptr
         : usual != remedy_of_array_like && usual != nullptr ? usual
         : becomes_array(object)                             ? remedy_of_array_like
                                                             : nullptr;
}
}  // namespace core DLBRIDGE_LOCAL
