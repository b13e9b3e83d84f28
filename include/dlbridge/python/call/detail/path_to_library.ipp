// The bodies of path_to_library.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/python/call/detail/path_to_library.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/arrays.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
constexpr char const* jax_wider = "Call jax.config.update(\"jax_enable_x64\", True)";

DLBRIDGE_LOCAL inline constexpr library_row library_rows[] = {
    {library::numpy, "numpy", "numpy", "from_dlpack", false, "empty", nullptr},
    {library::torch, "torch", "torch", "from_dlpack", false, nullptr, "Tensor"},
    {library::jax, "jax", "jax.dlpack", "from_dlpack", false, nullptr, nullptr, jax_wider},
    {library::jax, "jaxlib", "jax.dlpack", "from_dlpack", false, nullptr, nullptr, jax_wider},
    {library::tensorflow, "tensorflow", "tensorflow.experimental.dlpack", "from_dlpack", true,
     nullptr, nullptr},
    {library::cupy, "cupy", "cupy", "from_dlpack", false, "empty", nullptr},
    {library::tvm_ffi, "tvm_ffi", "tvm_ffi", "from_dlpack", false, nullptr, nullptr},
    {library::dpnp, "dpnp", "dpnp", "from_dlpack", false, nullptr, nullptr},
    {library::dpctl, "dpctl", "dpctl.tensor", "from_dlpack", false, nullptr, nullptr},
    {library::paddle, "paddle", "paddle.utils.dlpack", "from_dlpack", true, nullptr, nullptr},
    {library::mlx, "mlx", "mlx.core", "array", false, nullptr, nullptr, ""},
};

namespace detail {
DLBRIDGE_API library_row const* find_library(library which) noexcept {
  for (library_row const& each : library_rows) {
    if (each.which == which) {
      return &each;
    }
  }
  return nullptr;
}

DLBRIDGE_API library_row const* find_library(PyTypeObject* type) noexcept {
  ref const module = optional_attribute(reinterpret_cast<PyObject*>(type), names::get().module);
  char const* const name = module && PyUnicode_Check(module.get())
                               ? api<PyUnicode_AsUTF8AndSize>(module.get(), nullptr)
                               : nullptr;
  if (!suppress_exception()) {
    return nullptr;
  }
  for (library_row const& each : library_rows) {
    std::size_t const length = std::strlen(each.root);
    if (name != nullptr && std::strncmp(name, each.root, length) == 0 &&
        (name[length] == '\0' || name[length] == '.')) {
      return &each;
    }
  }
  return nullptr;
}

DLBRIDGE_API bool accept_strides(bool is_torch, managed_tensor& m) noexcept {
  bool is_negative = false;
  for (int i = 0; is_torch && m && i < m.view().rank(); ++i) {
    is_negative = is_negative || m.view().stride(i) < 0;
  }
  if (is_negative) {
    set_error(refusal(errc::layout_mismatch, "strides of 0 and above, as PyTorch requires",
                      name_of(m.view()).c_str(),
                      "For the author: return a copy, such as copy_of(view)"));
    error_keeper const pending;
    m = managed_tensor();
  }
  return !is_negative;
}

DLBRIDGE_API path_to_library export_path_of(PyObject* object) noexcept {
  type_entry const& type = type_cache::get(Py_TYPE(object));
  exchange_table const table =
      type.exchange && type.exchange.can_import() ? type.exchange : exchange_table();
  return type.has_export_path ? path_to_library{table, type.library, ref::borrow(type.from_dlpack)}
                              : find_export_path(object, table);
}

DLBRIDGE_API ref give_by_function(path_to_library const& path, managed_tensor m,
                                  result_choice as) noexcept {
  if (numpy_arrays const* const arrays = m ? path.arrays() : nullptr) {
    ref array = arrays->give(m);
    if (array || !m) {
      return array;
    }
  }
  std::optional<tensor_view> const built = m ? std::optional(m.view()) : std::nullopt;
  bool const is_read_only = built && built->read_only();
  ref producer;
  if (path.takes_capsule()) {
    managed_tensor legacy;
    auto const policy = m && find_immutable(m) != nullptr ? read_only_policy::drop
                                                          : read_only_policy::refuse;  // as produce
    if (guarded([&] { legacy = to_legacy(std::move(m), policy); })) {
      producer = wrap_capsule(std::move(legacy));
    }
  } else {
    producer = wrap_tensor(std::move(m));
  }
  ref object =
      producer ? ref::steal(api<detail::call_with>(path.function.get(), producer.get())) : ref();
  if (!object && is_read_only && PyErr_ExceptionMatches(PyExc_BufferError) != 0) {
    ref const cause = take_exception();
    set_error(refusal(errc::read_only, "writable memory, as the library of the result requires",
                      "read-only memory", "For the author: return a copy, such as copy_of(view)"));
    set_cause(cause.get());
  }
  bool const is_kept = path.row != nullptr && built && built->dtype().bits < 64;
  if (object && built && path.wider() != nullptr && !is_kept) {
    return keep_values(std::move(object), producer.get(), *built, as, path.wider());
  }
  return object;
}

DLBRIDGE_NOINLINE DLBRIDGE_API path_to_library find_export_path(library_row const& row) noexcept {
  constexpr std::size_t count = sizeof library_rows / sizeof *library_rows;
  static lazy_object functions[count];
  static lazy_object types[count];
  auto const place = static_cast<std::size_t>(&row - library_rows);
  auto const import = [&row](char const* name) noexcept {
    return [&row, name]() noexcept { return import_function(row.module, name); };
  };
  path_to_library path;
  path.function = ref::borrow(functions[place].get(import(row.function)));
  if (path.function && row.type != nullptr) {
    path.table = table_of(types[place].get(import(row.type)));
  }
  path.row = PyErr_Occurred() == nullptr ? &row : nullptr;
  path.row = path.arrays() != nullptr || PyErr_Occurred() == nullptr ? path.row : nullptr;
  return path;
}

DLBRIDGE_API ref give_as(library which, managed_tensor m, bool narrows) noexcept {
  library_row const* const row = find_library(which);
  if (row == nullptr) {
    return give_own(std::move(m));
  }
  path_to_library const path = find_export_path(*row);
  if (path.row == nullptr) {
    error_keeper const pending;
    m = managed_tensor();
    return ref();
  }
  if (!accept_strides(which == library::torch, m)) {
    return ref();
  }
  // A table orders no streams, which from_dlpack of the library does.
  return path.table && path.table.can_import() && m && m.view().device() == cpu
             ? give_by_table(path.table, std::move(m))
             : give_by_function(path, std::move(m), {which, narrows});
}

DLBRIDGE_API ref give_stated(managed_tensor m, bool narrows) noexcept {
  result_choice const& all = module_results;
  return all.which ? give_as(*all.which, std::move(m), narrows) : give_own(std::move(m));
}

// The row of the library that defines a type or, as that of a subclass is not the library's, one of
// its bases; null without one, and after an exception that is not suppressible.
inline library_row const* find_library_of(PyTypeObject* type) noexcept {
  ref const classes = classes_of(type);
  Py_ssize_t const count = classes ? detail::tuple_size(classes.get()) : 0;
  library_row const* row = nullptr;
  for (Py_ssize_t i = 0; i < count && row == nullptr && PyErr_Occurred() == nullptr; ++i) {
    row = find_library(reinterpret_cast<PyTypeObject*>(detail::tuple_item(classes.get(), i)));
  }
  return row;
}

DLBRIDGE_NOINLINE DLBRIDGE_API path_to_library find_export_path(PyObject* object,
                                                                exchange_table table) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  path_to_library path;
  path.table = table;
  path.row = find_library_of(type);
  if (!table && PyErr_Occurred() == nullptr) {
    type_entry const& known = type_cache::get(type);
    bool const is_producer = known.dlpack != nullptr || known.exchange || type == &PyCapsule_Type;
    if (path.row == nullptr && (!is_producer || has_arrow(object))) {
      path.row = find_library(module_results.which.value_or(library::numpy));
    }
    path.function =
        path.row != nullptr ? import_function(path.row->module, path.row->function) : ref();
    if (!path.function && suppress_exception()) {
      path.row = nullptr;
      ref const space = ref::steal(api<detail::call_named>(object, names::get().array_namespace));
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

DLBRIDGE_API ref try_give_by_table(exchange_table table, managed_tensor& m) noexcept {
  if (!guarded([&] { m = to_versioned(std::move(m)); })) {
    return ref();
  }
  ref object = ref::steal(static_cast<PyObject*>(table.try_import(m)));
  if (!object && PyErr_Occurred() == nullptr) {
    set_error(refusal(errc::producer_failed, "an object from the exchange table",
                      "success and no object"));
  }
  return object;
}

DLBRIDGE_API ref give_by_table(exchange_table table, managed_tensor m) noexcept {
  ref object = try_give_by_table(table, m);
  error_keeper const pending;
  m = managed_tensor();
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
