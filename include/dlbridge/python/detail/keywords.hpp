// names, read_keywords: hold interned names, and read the keyword arguments of a vectorcall.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <new>

#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// The attribute and keyword names that dlbridge uses, interned once for the process. The compiler
/// of Python interns the names in a caller's source too, so that equal names compare equal by
/// pointer.
/// @par Thread and GIL
/// The caller of every member holds the GIL.
struct names {
  PyObject* dlpack = nullptr;
  PyObject* dlpack_device = nullptr;
  PyObject* stream = nullptr;
  PyObject* max_version = nullptr;
  PyObject* dl_device = nullptr;
  PyObject* device = nullptr;
  PyObject* copy = nullptr;
  PyObject* readonly = nullptr;
  PyObject* dtype = nullptr;
  PyObject* exchange_table = nullptr;
  PyObject* exchange_table_1_2 = nullptr;
  PyObject* tensor_head = nullptr;
  PyObject* array_namespace = nullptr;
  PyObject* module = nullptr;
  PyObject* array_interface = nullptr;
  PyObject* cuda_array_interface = nullptr;
  PyObject* requires_grad = nullptr;
  PyObject* is_neg = nullptr;
  PyObject* stop_gradient = nullptr;
  PyObject* is_sparse = nullptr;
  PyObject* cuda_stream_protocol = nullptr;
  PyObject* cuda_stream = nullptr;
  PyObject* ptr = nullptr;
  PyObject* handle = nullptr;

  /// Creates the names. The functions that define others call it, so that get() never lacks one.
  /// @return false, with an exception set, when a name cannot be created; a later call may succeed.
  static bool prepare() noexcept {
    return known().load(std::memory_order_acquire) != nullptr ||
           (PyErr_Occurred() == nullptr && make() != nullptr);
  }

  DLBRIDGE_LOCAL static names const& get() noexcept {
    names const* const all = known().load(std::memory_order_acquire);
    return all != nullptr ? *all : make_or_none();
  }

 private:
  struct row {
    PyObject* names::* field;
    char const* text;
  };

  DLBRIDGE_LOCAL static std::atomic<names const*>& known() noexcept {
    static std::atomic<names const*> all{nullptr};
    return all;
  }

  // Returns null, with an exception set, when a name cannot be created.
  DLBRIDGE_COLD DLBRIDGE_LOCAL static names const* make() noexcept {
    static constexpr row rows[] = {
        {&names::dlpack, "__dlpack__"},
        {&names::dlpack_device, "__dlpack_device__"},
        {&names::stream, "stream"},
        {&names::max_version, "max_version"},
        {&names::dl_device, "dl_device"},
        {&names::device, "device"},
        {&names::copy, "copy"},
        {&names::readonly, "readonly"},
        {&names::dtype, "dtype"},
        {&names::exchange_table, "__dlpack_c_exchange_api__"},
        {&names::exchange_table_1_2, "__c_dlpack_exchange_api__"},
        {&names::tensor_head, "__dlbridge_tensor__"},
        {&names::array_namespace, "__array_namespace__"},
        {&names::module, "__module__"},
        {&names::array_interface, "__array_interface__"},
        {&names::cuda_array_interface, "__cuda_array_interface__"},
        {&names::requires_grad, "requires_grad"},
        {&names::is_neg, "is_neg"},
        {&names::stop_gradient, "stop_gradient"},
        {&names::is_sparse, "is_sparse"},
        {&names::cuda_stream_protocol, "__cuda_stream__"},
        {&names::cuda_stream, "cuda_stream"},
        {&names::ptr, "ptr"},
        {&names::handle, "handle"},
    };
    auto* const fresh = new (std::nothrow) names;
    bool done = fresh != nullptr;
    for (row const& each : rows) {
      done = done && (fresh->*each.field = api<PyUnicode_InternFromString>(each.text)) != nullptr;
    }
    names const* all = nullptr;
    // Another thread may have created the names meanwhile; those are then the result.
    if (done && known().compare_exchange_strong(all, fresh)) {
      return fresh;
    }
    if (fresh == nullptr) {
      api<PyErr_NoMemory>();
    }
    delete fresh;  // interned names are never released
    return all;
  }

  DLBRIDGE_COLD DLBRIDGE_LOCAL static names const& make_or_none() noexcept {
    static constexpr names none;
    names const* const all = make();
    return all != nullptr ? *all : none;
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
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
