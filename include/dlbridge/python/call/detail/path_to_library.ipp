// The bodies of path_to_library.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/python/call/detail/path_to_library.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Whether an object is a number of Python's own, or a list of some, which or_other accepts. NumPy
// makes the arrays for their callers, where it is installed.
DLBRIDGE_API bool is_plain(PyObject* object) noexcept {
  return is_list(object) || PyFloat_Check(object) || PyLong_Check(object);
}

// The row of the library that defines a type or, as that of a subclass is not the library's, one of
// its bases; null without one, and after an exception that is not suppressible.
DLBRIDGE_API library_row const* find_library_of(PyTypeObject* type) noexcept {
  ref const classes = classes_of(type);
  Py_ssize_t const count = classes ? PyTuple_GET_SIZE(classes.get()) : 0;
  library_row const* row = nullptr;
  for (Py_ssize_t i = 0; i < count && row == nullptr && PyErr_Occurred() == nullptr; ++i) {
    row = find_library(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(classes.get(), i)));
  }
  return row;
}

DLBRIDGE_API path_to_library find_export_path(PyObject* object, exchange_table table) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  path_to_library path;
  path.table = table;
  path.row = find_library_of(type);
  if (!table && PyErr_Occurred() == nullptr) {
    if (path.row == nullptr && is_plain(object)) {
      path.row = find_library(library::numpy);
    }
    path.function =
        path.row != nullptr ? import_function(path.row->module, path.row->function) : ref();
    if (!path.function && suppress_exception()) {
      path.row = nullptr;
      ref const space =
          ref::steal(api<PyObject_CallMethodNoArgs>(object, names::get().array_namespace));
      path.function =
          space ? ref::steal(api<PyObject_GetAttrString>(space.get(), "from_dlpack")) : ref();
      suppress_exception();
    }
  }
  bool const is_known = PyErr_Occurred() == nullptr;
  if (is_known && (path.arrays() != nullptr || PyErr_Occurred() == nullptr)) {
    type_cache::set_export_path(type, path.row, ref::borrow(path.function.get()));
  }
  return path;
}

DLBRIDGE_API exchange_table table_of(PyObject* type) noexcept {
  return type != nullptr && PyType_Check(type)
             ? type_cache::get(reinterpret_cast<PyTypeObject*>(type)).exchange
             : exchange_table();
}

DLBRIDGE_API exchange_table installed_table() noexcept {
  static lazy_object type;  // None where the package is not installed
  PyObject* const found = type.get([]() noexcept {
    ref tensor = import_function("dlbridge", "Tensor");
    if (!tensor && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError) != 0) {
      api<PyErr_Clear>();
      tensor = ref::borrow(Py_None);
    }
    return tensor;
  });
  if (found == nullptr) {  // another failure may not occur again
    suppress_exception();
  }
  return table_of(found);
}

DLBRIDGE_API ref give_by_table(exchange_table table, managed_tensor m) noexcept {
  if (!guarded([&] { m = to_versioned(std::move(m)); })) {
    return ref();
  }
  ref object = ref::steal(static_cast<PyObject*>(table.try_import(m)));
  if (!object) {
    if (PyErr_Occurred() == nullptr) {
      set_error(refusal(errc::producer_failed, "an object from the exchange table",
                        "success and no object"));
    }
    error_keeper const pending;
    m = managed_tensor();
  }
  return object;
}
}  // namespace detail

DLBRIDGE_API ref give_own(managed_tensor m) noexcept {
  exchange_table const table = detail::installed_table();
  if (PyErr_Occurred() != nullptr) {
    error_keeper const pending;
    m = managed_tensor();
    return ref();
  }
  return table ? detail::give_by_table(table, std::move(m)) : wrap_tensor(std::move(m));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
