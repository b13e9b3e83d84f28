// set_no_producer: the refusal of an object that has no __dlpack__, and what to pass in its place.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {

// Whether an object is a list, a tuple or a range, which may hold numbers.
inline bool is_list(PyObject* object) noexcept {
  return PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object);
}

// Whether numpy.asarray() makes an array of numbers of an object, as far as its type states it: a
// list, a tuple, a range, a number, a buffer, an object with __array__. Returns -1 with an
// exception set.
inline int is_array_like(PyObject* object) noexcept {
  if (is_list(object) || PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) ||
      PyObject_CheckBuffer(object) != 0) {
    return 1;
  }
  if (PyType_Check(object) || PyUnicode_Check(object)) {
    return 0;
  }
  ref const method = optional_attribute(object, "__array__");
  return method ? 1 : PyErr_Occurred() != nullptr ? -1 : 0;
}

constexpr char const* remedy_of_array_like = "Pass numpy.asarray() of it";

// Whether as_tensor() reads an object that is no producer. A lookup that raises counts as none.
// Returns -1 with an exception set that is not suppressible.
inline int has_described_memory(PyObject* object) noexcept {
  if (PyObject_CheckBuffer(object) != 0) {
    return 1;
  }
  names const& n = names::get();
  for (PyObject* const name : {n.array_interface, n.cuda_array_interface}) {
    if (optional_attribute(object, name)) {
      return 1;
    }
    if (!suppress_exception()) {
      return -1;
    }
  }
  return 0;
}

// Whether an object has no __dlpack__. A value of None states that it does not support DLPack. May
// return true with an exception of the lookup set.
inline bool lacks_dlpack(PyObject* object) noexcept {
  ref const method = optional_attribute(object, names::get().dlpack);
  return !method || method.get() == Py_None;
}

// Raises not_a_producer, or what a lookup of an attribute raised.
// @param is_class whether the object is a class whose objects are producers
// @param has_as_tensor whether the caller can call as_tensor() instead
// @param others what the caller accepts beside producers, such as ", or a buffer"
inline void set_no_producer(PyObject* object, bool is_class, bool has_as_tensor,
                            char const* others = "") noexcept {
  int const is_described = has_as_tensor && !is_class ? has_described_memory(object) : 0;
  int const is_like_one = is_class || is_described != 0 ? 0 : is_array_like(object);
  if (is_described < 0 || is_like_one < 0) {
    return;
  }
  char const* const remedy =
      is_class                ? "Pass an object of it"
      : is_described != 0     ? "Call as_tensor(), which also takes buffers and array interfaces"
      : PyBytes_Check(object) ? "Pass numpy.frombuffer() of it, with its dtype"
      : is_like_one != 0      ? remedy_of_array_like
                              : nullptr;
  PyTypeObject* const named = is_class ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object);
  report r = refusal(errc::not_a_producer, "an object with __dlpack__ and __dlpack_device__",
                     is_class ? "the class " : "one of type ", remedy);
  r.expected.append(others);
  r.got.append(named->tp_name);
  set_error(r);
}

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
