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
  bool is_complete = true;
  PyObject* dlpack = intern("__dlpack__");
  PyObject* dlpack_device = intern("__dlpack_device__");
  PyObject* stream = intern("stream");
  PyObject* max_version = intern("max_version");
  PyObject* dl_device = intern("dl_device");
  PyObject* device = intern("device");
  PyObject* copy = intern("copy");
  PyObject* readonly = intern("readonly");
  PyObject* dtype = intern("dtype");
  PyObject* exchange_table = intern("__dlpack_c_exchange_api__");
  PyObject* exchange_table_1_2 = intern("__c_dlpack_exchange_api__");
  PyObject* array_namespace = intern("__array_namespace__");
  PyObject* module = intern("__module__");
  PyObject* array_interface = intern("__array_interface__");
  PyObject* cuda_array_interface = intern("__cuda_array_interface__");
  PyObject* requires_grad = intern("requires_grad");
  PyObject* is_neg = intern("is_neg");
  PyObject* stop_gradient = intern("stop_gradient");
  PyObject* is_sparse = intern("is_sparse");

  /// Creates the names. The functions that define others call it, so that get() never lacks one.
  /// @return false, with an exception set, when a name cannot be created; a later call may succeed.
  static bool prepare() noexcept {
    names& interned = storage();
    if (!interned.is_complete && PyErr_Occurred() == nullptr) {
      interned = names();
    }
    return interned.is_complete;
  }

  DLBRIDGE_LOCAL static names const& get() noexcept { return storage(); }

 private:
  DLBRIDGE_LOCAL static names& storage() noexcept {
    static names interned;
    return interned;
  }
  PyObject* intern(char const* text) noexcept {
    PyObject* const name = is_complete ? api<PyUnicode_InternFromString>(text) : nullptr;
    is_complete = name != nullptr;
    return name;
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
      if (PyErr_Occurred() != nullptr) {
        return false;
      }
    }
    if (i == accepted_count) {
      ref const list = ref::steal(api<PyList_New>(0));
      bool done = static_cast<bool>(list);
      for (int n = 0; done && n < accepted_count; ++n) {
        done = api<PyList_Append>(list.get(), accepted[n]) == 0;
      }
      if (!done) {
        return false;
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
