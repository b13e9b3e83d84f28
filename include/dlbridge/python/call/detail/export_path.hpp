// export_path: converts a managed tensor to an object of a library: by the exchange table of a
// type, by NumPy's C API, by the library's from_dlpack, or as a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/detail/numpy_arrays.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/immutable_array.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace python {

/// One row for each top-level package of each library except dlbridge.
struct library_row {
  library which;
  char const* root;      // the top-level package of the library's types
  char const* module;    // the module of function and empty
  char const* function;  // the function that imports a tensor
  bool takes_capsule;    // whether function accepts a capsule only
  char const* empty;     // the allocator (shape, dtype), or null to allocate by build_empty
  char const* type;      // the class with an exchange table in module, or null
  // What its callers do to receive results of 64 bits, which it stores in 32 bits; may be empty.
  // Null if it keeps every dtype.
  char const* wider = nullptr;
};
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
inline library_row const* find_library(library which) noexcept {
  for (library_row const& each : library_rows) {
    if (each.which == which) {
      return &each;
    }
  }
  return nullptr;
}

// The row of the library that defines a class, by the first part of the class's __module__.
inline library_row const* find_library(PyTypeObject* type) noexcept {
  ref const module = optional_attribute(reinterpret_cast<PyObject*>(type), names::get().module);
  char const* const name =
      module && PyUnicode_Check(module.get()) ? api<PyUnicode_AsUTF8>(module.get()) : nullptr;
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

// The conversion from tensors to objects of one Python type's library. Looked up once per type.
struct export_path {
  exchange_table table{};
  library_row const* row = nullptr;
  PyObject* function = nullptr;          // from_dlpack
  numpy_arrays const* arrays = nullptr;  // NumPy's C API, if the library is NumPy and has it
  bool is_torch = false;                 // which ends the process for negative strides

  bool takes_capsule() const noexcept { return row != nullptr && row->takes_capsule; }
  char const* wider() const noexcept { return row != nullptr ? row->wider : ""; }
  // The caches never release the function. Free-threaded builds do not cache.
  void set_function(ref found) noexcept {
    function = found.get();
#if defined(Py_GIL_DISABLED)
    owner = std::move(found);
#else
    static_cast<void>(found.release());
#endif
  }
#if defined(Py_GIL_DISABLED)
  ref owner{};
#endif
};

// The C API that creates objects of a row's library without from_dlpack; null for other libraries.
inline numpy_arrays const* find_arrays(library_row const& row) noexcept {
  return row.which == library::numpy ? find_numpy_arrays() : nullptr;
}

// Whether an object is a number of Python's own, or a list of some, which or_other accepts. NumPy
// makes the arrays for their callers, where it is installed.
inline bool is_plain(PyObject* object) noexcept {
  return is_list(object) || PyFloat_Check(object) || PyLong_Check(object);
}

// Whether a type or one of its bases is defined by PyTorch.
inline bool is_of_torch(PyTypeObject* type) noexcept {
  ref const classes = classes_of(type);
  Py_ssize_t const count = classes ? PyTuple_GET_SIZE(classes.get()) : 0;
  for (Py_ssize_t i = 0; i < count && PyErr_Occurred() == nullptr; ++i) {
    auto* const each = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(classes.get(), i));
    library_row const* const row = find_library(each);
    if (row != nullptr) {
      return row->which == library::torch;
    }
  }
  return false;
}

// Accepts the strides that a library takes. PyTorch throws an exception for negative ones through a
// function that is noexcept, which ends the process. Frees the tensor on failure, and sets an
// exception.
inline bool accept_strides(bool is_torch, managed_tensor& m) noexcept {
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

// The path for objects of a type. An exception that is not suppressible stays pending; the path is
// then unknown.
DLBRIDGE_COLD inline export_path find_export_path(PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  export_path path;
  exchange_table const table = type_cache::get_copy(type).exchange;
  if (table && table.can_import()) {
    path.table = table;
    path.is_torch = is_of_torch(type);
    return path;
  }
  ref const classes = classes_of(type);  // the module of a subclass is not the library's
  Py_ssize_t const count = classes ? PyTuple_GET_SIZE(classes.get()) : 0;
  bool is_known = true;
  for (Py_ssize_t i = 0; is_known && i < count && path.row == nullptr; ++i) {
    path.row = find_library(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(classes.get(), i)));
    is_known = path.row != nullptr || PyErr_Occurred() == nullptr;
  }
  if (path.row == nullptr && is_known && is_plain(object)) {
    path.row = find_library(library::numpy);
  }
  if (path.row != nullptr) {
    path.set_function(import_function(path.row->module, path.row->function));
    path.arrays = path.function != nullptr ? find_arrays(*path.row) : nullptr;
  }
  if (path.function == nullptr && suppress_exception()) {
    path.row = nullptr;
    ref const space =
        ref::steal(api<PyObject_CallMethodNoArgs>(object, names::get().array_namespace));
    if (space) {
      path.set_function(ref::steal(api<PyObject_GetAttrString>(space.get(), "from_dlpack")));
    }
    suppress_exception();
  }
  return path;
}

/// A cache of export paths by type. It owns a reference to each type, so that no other type reuses
/// the type's address.
/// @par Thread and GIL
/// The caller holds the GIL. Free-threaded builds do not cache.
class export_path_cache {
 public:
  // As find_export_path. A path that is unknown is not cached: another call may find it.
  DLBRIDGE_LOCAL static export_path get(PyObject* object) noexcept {
#if defined(Py_GIL_DISABLED)
    return find_export_path(object);
#else
    PyTypeObject* const type = Py_TYPE(object);
    static entry entries[size];
    entry& cached = entries[(reinterpret_cast<std::uintptr_t>(type) >> 5) % size];
    if (cached.type != type) {
      export_path const path = find_export_path(object);
      if (PyErr_Occurred() != nullptr) {
        return path;
      }
      entry const old = cached;  // old.path.function is leaked: it may be running
      Py_INCREF(type);
      cached = {type, path};
      xdecref(reinterpret_cast<PyObject*>(old.type));
      return path;
    }
    return cached.path;
#endif
  }

 private:
  static constexpr std::size_t size = 64;
  struct entry {
    PyTypeObject* type = nullptr;
    export_path path{};
  };
};

// The exchange table of dlbridge.Tensor of the installed package, whose version may differ from
// this extension's; null when the package is not installed. Looked up once per process, or on each
// call by free-threaded builds.
DLBRIDGE_LOCAL inline exchange_table installed_table() noexcept {
#if !defined(Py_GIL_DISABLED)
  static bool is_known = false;  // no static initializer may run Python code (lazy_object)
  static exchange_table known;
  if (is_known) {
    return known;
  }
#endif
  ref const type = import_function("dlbridge", "Tensor");
  [[maybe_unused]] bool const is_final =  // another failure may not occur again
      type || PyErr_ExceptionMatches(PyExc_ModuleNotFoundError) != 0;
  if (!suppress_exception()) {
    return exchange_table();
  }
  exchange_table const table =
      type && PyType_Check(type.get())
          ? type_cache::get_copy(reinterpret_cast<PyTypeObject*>(type.get())).exchange
          : exchange_table();
#if !defined(Py_GIL_DISABLED)
  known = table;
  is_known = is_final;
#endif
  return table;
}

// Converts a tensor by an exchange table. A slot that fails leaves the tensor with its caller.
inline ref give_by_table(exchange_table table, managed_tensor m) noexcept {
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

// Converts a tensor by NumPy's C API, or else by from_dlpack.
// @pre path.function is not null.
inline ref give_by_function(export_path const& path, managed_tensor m, returns as) noexcept {
  if (path.arrays != nullptr && m) {
    ref array = path.arrays->give(m);
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
      producer ? ref::steal(api<PyObject_CallOneArg>(path.function, producer.get())) : ref();
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

// The conversion to objects of a library, which is imported if necessary. Looked up once per
// library, or on each call by free-threaded builds. It is unknown, with an exception set, while the
// library cannot be imported.
DLBRIDGE_LOCAL inline export_path find_export_path(library_row const& row) noexcept {
#if !defined(Py_GIL_DISABLED)
  static export_path known[sizeof library_rows / sizeof *library_rows];
  export_path& cached = known[&row - library_rows];
  if (cached.row != nullptr) {
    return cached;
  }
#endif
  export_path path;
  path.set_function(import_function(row.module, row.function));
  ref const type = path.function != nullptr && row.type != nullptr
                       ? import_function(row.module, row.type)
                       : ref();
  path.arrays = path.function != nullptr ? find_arrays(row) : nullptr;
  if (PyErr_Occurred() != nullptr) {
    return path;
  }
  path.row = &row;
  if (type && PyType_Check(type.get())) {
    path.table = type_cache::get_copy(reinterpret_cast<PyTypeObject*>(type.get())).exchange;
  }
#if !defined(Py_GIL_DISABLED)
  cached = path;
#endif
  return path;
}
}  // namespace detail

/// Converts a tensor to a Tensor: of the installed package dlbridge, or else of this extension.
/// @param m the tensor
/// @return the object, or an empty ref with a Python exception set
/// @par Ownership
/// Takes m; on failure m is freed.
/// @par Thread and GIL
/// The caller holds the GIL.
inline ref give_own(managed_tensor m) noexcept {
  exchange_table const table = detail::installed_table();
  if (PyErr_Occurred() != nullptr) {
    error_keeper const pending;
    m = managed_tensor();
    return ref();
  }
  return table ? detail::give_by_table(table, std::move(m)) : wrap_tensor(std::move(m));
}

/// Converts a tensor to an object of a library, which is imported if necessary.
/// @param which the library
/// @param m the tensor
/// @param narrows whether the result may be rounded, as `narrow` states
/// @return the object, or an empty ref with the exception of the import or of the library set
/// @par Ownership
/// Takes m; on failure m is freed.
/// @par Thread and GIL
/// The caller holds the GIL.
inline ref give_as(library which, managed_tensor m, bool narrows = false) noexcept {
  library_row const* const row = detail::find_library(which);
  if (row == nullptr) {
    return give_own(std::move(m));
  }
  detail::export_path const path = detail::find_export_path(*row);
  if (path.row == nullptr) {
    error_keeper const pending;
    m = managed_tensor();
    return ref();
  }
  if (!detail::accept_strides(which == library::torch, m)) {
    return ref();
  }
  // A table orders no streams, which from_dlpack of the library does.
  return path.table && path.table.can_import() && m && m.view().device() == cpu
             ? detail::give_by_table(path.table, std::move(m))
             : detail::give_by_function(path, std::move(m), {which, narrows});
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
