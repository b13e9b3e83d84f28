// dlbridge::def_dlpack: makes a class that pybind11 binds a DLPack producer, by means of its
// array_traits.
// layer: bindings · from a C++ array to every consumer
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include <dlbridge/python/call/binding/class_operations.hpp>
#include <dlbridge/python/call/binding/mismatch.hpp>
#include <dlbridge/python/export/exchange_table.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// The Library of class_operations.
struct pybind11_objects : pybind11_translator {
  template <class T>
  static T& get(PyObject* self) {
    if (!is_initialized(self)) {
      throw py::type_error(not_initialized);
    }
    return py::cast<T&>(py::handle(self));
  }
  template <class T>
  static PyObject* make(T value) {
    return py::cast(std::move(value)).release().ptr();
  }

 private:
  // Whether the C++ object exists: pybind11's cast would allocate memory for it, which no
  // constructor has initialized.
  static bool is_initialized(PyObject* self) {
    auto* const object = reinterpret_cast<py::detail::instance*>(self);
    for (py::detail::value_and_holder const& each : py::detail::values_and_holders(object)) {
      if (each.value_ptr() == nullptr || (object->owned && !each.holder_constructed())) {
        return false;
      }
    }
    return true;
  }
};
}  // namespace detail
}  // namespace python

/// Makes a class with array_traits a DLPack producer: adds __dlpack__, __dlpack_device__ and the
/// exchange table.
/// @param bound_class the class
/// @throws pybind11::error_already_set when the class refuses an attribute
/// @par Lifetime
/// Every exported tensor keeps its object alive. The object must not move or free the memory that
/// array_traits<T>::describe returned while an exported tensor exists.
template <class T, class... Options>
DLBRIDGE_LOCAL void def_dlpack(pybind11::class_<T, Options...>& bound_class) {
  using operations = python::detail::class_operations<python::detail::pybind11_objects, T>;
  static PyMethodDef methods[] = {
      // the docstrings have pybind11's form, which stub generators read
      {"__dlpack__",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&operations::dlpack)),
       METH_FASTCALL | METH_KEYWORDS,
       "__dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | None = None, "
       "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any\n\n"
       "A capsule with the array's memory, which keeps the array alive."},
      {"__dlpack_device__", &operations::dlpack_device, METH_NOARGS,
       "__dlpack_device__(self) -> tuple[int, int]\n\nThe device of the memory, (type, id)."}};
  auto* const type = reinterpret_cast<PyTypeObject*>(bound_class.ptr());
  for (PyMethodDef& each : methods) {
    bound_class.attr(each.ml_name) =
        python::detail::checked(python::ref::steal(python::api<PyDescr_NewMethod>(type, &each)));
  }
#if DLBRIDGE_DLPACK_AT_LEAST(2)
  if (!python::add_exchange_table<operations>(type)) {
    throw pybind11::error_already_set();
  }
#endif
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
