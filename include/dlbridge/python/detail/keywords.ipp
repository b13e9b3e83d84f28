// The bodies of keywords.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <new>

#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API bool names::prepare() noexcept {
  return known().load(std::memory_order_acquire) != nullptr ||
         (PyErr_Occurred() == nullptr && make() != nullptr);
}

DLBRIDGE_API names const& names::get() noexcept {
  names const* const all = known().load(std::memory_order_acquire);
  return all != nullptr ? *all : make_or_none();
}

DLBRIDGE_API std::atomic<names const*>& names::known() noexcept {
  static std::atomic<names const*> all{nullptr};
  return all;
}

DLBRIDGE_NOINLINE DLBRIDGE_API names const* names::make() noexcept {
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
      {&names::array_method, "__array__"},
      {&names::arrow_array, "__arrow_c_array__"},
      {&names::arrow_stream, "__arrow_c_stream__"},
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

DLBRIDGE_NOINLINE DLBRIDGE_API names const& names::make_or_none() noexcept {
  static constexpr names none;
  names const* const all = make();
  return all != nullptr ? *all : none;
}

DLBRIDGE_API bool read_keywords(char const* function, Py_ssize_t positional, PyObject* const* args,
                                Py_ssize_t count, PyObject* keywords, PyObject* const* accepted,
                                int accepted_count, PyObject** out) noexcept {
  if (count != positional) {
    api<PyErr_Format>(PyExc_TypeError,
                      "%s() takes %zd positional argument%s, not %zd; the others are "
                      "keyword-only",
                      function, positional, positional == 1 ? "" : "s", count);
    return false;
  }
  Py_ssize_t const keyword_count = keywords != nullptr ? detail::tuple_size(keywords) : 0;
  for (Py_ssize_t k = 0; k < keyword_count; ++k) {
    PyObject* const name = detail::tuple_item(keywords, k);
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
DLBRIDGE_END_NAMESPACE
