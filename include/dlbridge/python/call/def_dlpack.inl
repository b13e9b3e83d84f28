// The inline bodies of def_dlpack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/def_dlpack.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/export/type_exchange_table.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
template <class Operations>
bool add_dlpack(PyTypeObject* type, char const* const (&docs)[4]) noexcept {
  static PyMethodDef methods[] = {
      {"__dlpack__", method(&Operations::dlpack), METH_FASTCALL | METH_KEYWORDS, docs[0]},
      {"__dlpack_device__", &Operations::dlpack_device, METH_NOARGS, docs[1]},
      {"__array__", method(&array_of_producer), METH_VARARGS | METH_KEYWORDS, docs[2]},
      {"__iter__", method(&iterate_producer), METH_NOARGS, docs[3]}};
  if (!names::prepare()) {
    return false;
  }
  auto* const object = reinterpret_cast<PyObject*>(type);
  for (PyMethodDef& each : methods) {
    if (&each >= &methods[2] && optional_attribute(object, each.ml_name)) {
      continue;  // that of the author
    }
    ref const added =
        PyErr_Occurred() == nullptr ? ref::steal(api<PyDescr_NewMethod>(type, &each)) : ref();
    if (!added || api<PyObject_SetAttrString>(object, each.ml_name, added.get()) != 0) {
      return false;
    }
  }
  if (Operations::refuses_ufuncs &&
      api<PyObject_SetAttrString>(object, "__array_ufunc__", Py_None) != 0) {
    return false;
  }
#if DLBRIDGE_DLPACK_AT_LEAST(2)
  return python::add_exchange_table<Operations>(type);
#else
  return true;
#endif
}

template <auto Get, auto Make>
template <class T>
inline PyObject* object_functions<Get, Make>::make(T value) {
  PyObject* const object = Make(std::move(value));
  if (object == nullptr) {
    throw python_error();
  }
  return object;
}
}  // namespace detail

template <auto Get, auto Make, class... Options>
void def_dlpack(PyTypeObject* type, [[maybe_unused]] Options... options) {
  using result = decltype(Get(std::declval<PyObject*>()));
  static_assert(
      std::is_lvalue_reference_v<result> && !std::is_const_v<std::remove_reference_t<result>>,
      "dlbridge: Get of def_dlpack returns a reference to the array of an object: write "
      "it as T& get(PyObject* self)");
  using operations =
      detail::class_operations<detail::object_functions<Get, Make>, std::remove_reference_t<result>,
                               detail::export_options<Options...>>;
  if (!detail::add_dlpack<operations>(type, detail::docs_to_inspect)) {
    throw python_error();
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
