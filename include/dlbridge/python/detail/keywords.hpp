// names, read_keywords: hold interned names, and read the keyword arguments of a vectorcall.
// layer: interpreter · arguments of Python calls
#pragma once

#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// The attribute and keyword names that dlbridge uses, interned once for the process. The compiler
/// of Python interns the names in a caller's source too, so that equal names compare equal by
/// pointer.
struct names {
  PyObject* dlpack = api<PyUnicode_InternFromString>("__dlpack__");
  PyObject* dlpack_device = api<PyUnicode_InternFromString>("__dlpack_device__");
  PyObject* stream = api<PyUnicode_InternFromString>("stream");
  PyObject* max_version = api<PyUnicode_InternFromString>("max_version");
  PyObject* dl_device = api<PyUnicode_InternFromString>("dl_device");
  PyObject* device = api<PyUnicode_InternFromString>("device");
  PyObject* copy = api<PyUnicode_InternFromString>("copy");
  PyObject* readonly = api<PyUnicode_InternFromString>("readonly");
  PyObject* dtype = api<PyUnicode_InternFromString>("dtype");
  PyObject* exchange_table = api<PyUnicode_InternFromString>("__dlpack_c_exchange_api__");
  PyObject* exchange_table_1_2 = api<PyUnicode_InternFromString>("__c_dlpack_exchange_api__");
  PyObject* array_namespace = api<PyUnicode_InternFromString>("__array_namespace__");
  PyObject* module = api<PyUnicode_InternFromString>("__module__");
  PyObject* array_interface = api<PyUnicode_InternFromString>("__array_interface__");
  PyObject* cuda_array_interface = api<PyUnicode_InternFromString>("__cuda_array_interface__");

  DLBRIDGE_LOCAL static names const& get() noexcept {
    static names const interned;
    return interned;
  }
};

/// Reads the arguments of a vectorcall: exactly `positional` positional ones, then keywords.
/// @param function the name of the function, for messages.
/// @param accepted the accepted keywords, interned.
/// @param out out[i] is set to the argument of keyword accepted[i], borrowed, and stays as it is
///   when the caller did not pass that keyword.
/// @return false, with TypeError set, for a wrong number of positional arguments or an unknown
///   keyword.
inline bool read_keywords(char const* function, Py_ssize_t positional, PyObject* const* args,
                          Py_ssize_t count, PyObject* keywords, PyObject* const* accepted,
                          int accepted_count, PyObject** out) noexcept {
  if (count != positional) {
    api<PyErr_Format>(PyExc_TypeError,
                      "%s() takes %zd positional argument%s, not %zd; the others are "
                      "keyword-only",
                      function, positional, positional == 1 ? "" : "s", count);
    return false;
  }
  Py_ssize_t const keyword_count = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < keyword_count; ++k) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, k);
    int i = 0;
    while (i < accepted_count && accepted[i] != name) {
      ++i;
    }
    if (i == accepted_count) {  // the name may not be interned
      i = 0;
      while (i < accepted_count && api<PyUnicode_Compare>(accepted[i], name) != 0) {
        ++i;
      }
    }
    if (i == accepted_count) {
      ref const list = ref::steal(api<PyList_New>(0));
      for (int n = 0; list && n < accepted_count; ++n) {
        static_cast<void>(api<PyList_Append>(list.get(), accepted[n]));
      }
      api<PyErr_Format>(PyExc_TypeError, "%s() got an unexpected keyword argument %R; it takes %R",
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
