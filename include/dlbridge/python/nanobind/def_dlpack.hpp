// dlbridge::def_dlpack: makes a class that nanobind binds a DLPack producer, by means of its
// array_traits.
// layer: bindings · from a C++ array to every consumer
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include <dlbridge/python/call/binding/class_operations.hpp>
#include <dlbridge/python/export/exchange_table.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace on_nanobind {
// The Library of class_operations.
struct object_access : translator {
  template <class T>
  static T& get(PyObject* self) {
    if (set_not_initialized(self)) {
      throw_pending();
    }
    return nb::cast<T&>(nb::handle(self));
  }
  template <class T>
  static PyObject* make(T value) {
    return nb::cast(std::move(value)).release().ptr();
  }
};
}  // namespace on_nanobind
}  // namespace python

/// Makes a class with array_traits a DLPack producer: adds __dlpack__, __dlpack_device__ and the
/// exchange table.
/// @param bound_class the class
/// @throws nanobind::python_error when the class refuses an attribute
/// @par Lifetime
/// Every exported tensor keeps its object alive. The object must not move or free the memory that
/// array_traits<T>::describe returned while an exported tensor exists.
template <class T, class... Options>
DLBRIDGE_LOCAL void def_dlpack(::nanobind::class_<T, Options...>& bound_class) {
  using operations = python::detail::class_operations<python::on_nanobind::object_access, T>;
  static PyMethodDef methods[] = {
      // the signatures are those of inspect.signature, which nanobind's stubgen reads
      {"__dlpack__",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&operations::dlpack)),
       METH_FASTCALL | METH_KEYWORDS,
       "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
       "A capsule with the array's memory, which keeps the array alive."},
      {"__dlpack_device__", &operations::dlpack_device, METH_NOARGS,
       "__dlpack_device__($self, /)\n--\n\nThe device of the memory, (type, id)."}};
  auto* const type = reinterpret_cast<PyTypeObject*>(bound_class.ptr());
  for (PyMethodDef& each : methods) {
    PyObject* const method = python::api<PyDescr_NewMethod>(type, &each);
    if (method == nullptr) {
      python::on_nanobind::throw_pending();
    }
    bound_class.attr(each.ml_name) = ::nanobind::steal(method);
  }
#if DLBRIDGE_DLPACK_AT_LEAST(2)
  if (!python::add_exchange_table<operations>(type)) {
    python::on_nanobind::throw_pending();
  }
#endif
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
