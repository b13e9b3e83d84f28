// Interned names, and keyword arguments of a vectorcall told apart by pointer first.
// layer: interpreter · how Python's arguments are read
#pragma once

#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// The names that this library looks up or is called with. Interned once, kept for the process;
/// names given by a caller's source are interned too, so pointers compare equal.
struct names {
  PyObject* dlpack = PyUnicode_InternFromString("__dlpack__");
  PyObject* dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
  PyObject* stream = PyUnicode_InternFromString("stream");
  PyObject* max_version = PyUnicode_InternFromString("max_version");
  PyObject* dl_device = PyUnicode_InternFromString("dl_device");
  PyObject* device = PyUnicode_InternFromString("device");
  PyObject* copy = PyUnicode_InternFromString("copy");
  PyObject* readonly = PyUnicode_InternFromString("readonly");
  PyObject* dtype = PyUnicode_InternFromString("dtype");
  PyObject* exchange_table = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  PyObject* exchange_table_1_2 = PyUnicode_InternFromString("__c_dlpack_exchange_api__");
  PyObject* array_namespace = PyUnicode_InternFromString("__array_namespace__");
  PyObject* module = PyUnicode_InternFromString("__module__");
  PyObject* array_interface = PyUnicode_InternFromString("__array_interface__");
  PyObject* cuda_array_interface = PyUnicode_InternFromString("__cuda_array_interface__");

  DLBRIDGE_LOCAL static names const& get() noexcept {
    static names const made;
    return made;
  }
};

/// Distributes a vectorcall's arguments: exactly `positional` of them, then keywords by name, each
/// into out[i] for accepted[i]; what is not given stays as it is. All references are borrowed.
/// False with TypeError for a wrong number of arguments or a keyword that is not accepted.
inline bool read_keywords(char const* function, Py_ssize_t positional, PyObject* const* args,
                          Py_ssize_t count, PyObject* keywords, PyObject* const* accepted,
                          int accepted_count, PyObject** out) noexcept {
  if (count != positional) {
    PyErr_Format(PyExc_TypeError,
                 "%s() takes %zd positional argument%s, not %zd; the others are "
                 "keyword-only",
                 function, positional, positional == 1 ? "" : "s", count);
    return false;
  }
  Py_ssize_t const given = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < given; ++k) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, k);
    int i = 0;
    while (i < accepted_count && accepted[i] != name) {
      ++i;
    }
    if (i == accepted_count) {  // a name that was not interned
      i = 0;
      while (i < accepted_count && PyUnicode_Compare(accepted[i], name) != 0) {
        ++i;
      }
    }
    if (i == accepted_count) {
      ref const list = ref::steal(PyList_New(0));
      for (int n = 0; list && n < accepted_count; ++n) {
        static_cast<void>(PyList_Append(list.get(), accepted[n]));
      }
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R; it takes %R",
                   function, name, list.get());
      return false;
    }
    out[i] = args[count + k];
  }
  return true;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
