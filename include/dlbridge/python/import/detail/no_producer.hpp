// set_no_producer: the refusal of an object that has no __dlpack__, and what to pass in its place.
// layer: import · the calls of a producer
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
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

// Raises not_a_producer, or what a lookup of an attribute raised.
// @param is_class whether the object is a class whose objects are producers
// @param remedy the advice of the caller, or null
inline void set_no_producer(PyObject* object, bool is_class, char const* remedy) noexcept {
  if (is_class) {
    remedy = "Pass an object of it";
  } else if (remedy == nullptr && PyBytes_Check(object)) {
    remedy = "Pass numpy.frombuffer() of it, with its dtype";
  } else if (remedy == nullptr) {
    int const is_like_one = is_array_like(object);
    if (is_like_one < 0) {
      return;
    }
    remedy = is_like_one != 0 ? remedy_of_array_like : nullptr;
  }
  PyTypeObject* const named = is_class ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object);
  report r = refusal(errc::not_a_producer, "an object with __dlpack__ and __dlpack_device__",
                     is_class ? "the class " : "one of type ", remedy);
  r.got.append(named->tp_name);
  set_error(r);
}

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
