// export_path: how a managed tensor becomes an object of a library: by the exchange table of a
// type, by the library's from_dlpack, or as a Tensor.
// layer: call · from a managed tensor to the caller's own type
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// Libraries that a function may return tensors of, whatever it was given. `own` is
/// dlbridge.Tensor.
enum class library : std::uint8_t {
  own,
  numpy,
  torch,
  jax,
  tensorflow,
  cupy,
  tvm_ffi,
  dpnp,
  dpctl,
  paddle,
  mlx,
};

namespace python {

/// One row for each library but own: how its types' modules begin, and which function makes a
/// tensor of its own. capsule: the function takes nothing else. empty: a function that allocates
/// an array given shape and dtype, where that is the better result; or null.
struct library_row {
  library which;
  char const* root;
  char const* module;
  char const* function;
  bool capsule;
  char const* empty;
};
DLBRIDGE_LOCAL inline constexpr library_row library_rows[] = {
    {library::numpy, "numpy", "numpy", "from_dlpack", false, "empty"},
    {library::torch, "torch", "torch", "from_dlpack", false, nullptr},
    {library::jax, "jax", "jax.dlpack", "from_dlpack", false, nullptr},
    {library::jax, "jaxlib", "jax.dlpack", "from_dlpack", false, nullptr},
    {library::tensorflow, "tensorflow", "tensorflow.experimental.dlpack", "from_dlpack", true,
     nullptr},
    {library::cupy, "cupy", "cupy", "from_dlpack", false, "empty"},
    {library::tvm_ffi, "tvm_ffi", "tvm_ffi", "from_dlpack", false, nullptr},
    {library::dpnp, "dpnp", "dpnp", "from_dlpack", false, nullptr},
    {library::dpctl, "dpctl", "dpctl.tensor", "from_dlpack", false, nullptr},
    {library::paddle, "paddle", "paddle.utils.dlpack", "from_dlpack", true, nullptr},
    {library::mlx, "mlx", "mlx.core", "array", false, nullptr},
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

// The row whose library a class was made in, by the first part of its __module__.
inline library_row const* find_library(PyTypeObject* type) noexcept {
  ref const module = optional_attribute(reinterpret_cast<PyObject*>(type), names::get().module);
  char const* const name =
      module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
  PyErr_Clear();
  for (library_row const& each : library_rows) {
    std::size_t const length = std::strlen(each.root);
    if (name != nullptr && std::strncmp(name, each.root, length) == 0 &&
        (name[length] == '\0' || name[length] == '.')) {
      return &each;
    }
  }
  return nullptr;
}

DLBRIDGE_COLD inline ref import_function(char const* module, char const* function) noexcept {
  ref const found = ref::steal(PyImport_ImportModule(module));
  return found ? ref::steal(PyObject_GetAttrString(found.get(), function)) : ref();
}

// How tensors become objects of one Python type's library; looked up once for each type.
struct export_path {
  exchange_table table;
  library_row const* row = nullptr;
  PyObject* function = nullptr;  // from_dlpack; never released
};

DLBRIDGE_COLD inline export_path find_export_path(PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  export_path path;
  exchange_table const table = type_cache::find(type).exchange;
  if (table && table.can_import()) {
    path.table = table;
    return path;
  }
  PyObject* const bases = type->tp_mro;  // a subclass lives in its author's module
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases) && path.row == nullptr; ++i) {
    path.row = find_library(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i)));
  }
  if (path.row != nullptr) {
    path.function = import_function(path.row->module, path.row->function).release();
  }
  PyErr_Clear();
  if (path.function == nullptr) {
    path.row = nullptr;
    ref const space = ref::steal(PyObject_CallMethodNoArgs(object, names::get().array_namespace));
    path.function = space ? PyObject_GetAttrString(space.get(), "from_dlpack") : nullptr;
    PyErr_Clear();
  }
  return path;
}

/// Export paths by type. The cache holds a reference to each type, so that no other type takes its
/// address.
/// thread and GIL: held. Free-threaded builds look up each time.
class export_path_cache {
 public:
  DLBRIDGE_LOCAL static export_path find(PyObject* object) noexcept {
#if defined(Py_GIL_DISABLED)
    return find_export_path(object);
#else
    PyTypeObject* const type = Py_TYPE(object);
    static entry entries[size];
    entry& cached = entries[(reinterpret_cast<std::uintptr_t>(type) >> 5) % size];
    if (cached.type != type) {
      export_path const fresh = find_export_path(object);
      entry const old = cached;  // its function may be running: the reference is leaked
      Py_INCREF(type);
      cached = {type, fresh};
      Py_XDECREF(old.type);
      return fresh;
    }
    return cached.path;
#endif
  }

 private:
  static constexpr std::size_t size = 64;
  struct entry {
    PyTypeObject* type = nullptr;
    export_path path;
  };
};

// dlbridge.Tensor as the installed package has it, whose version may be another; null when there is
// no such package. Kept for the process.
DLBRIDGE_LOCAL inline exchange_table installed_table() noexcept {
  static exchange_table const found = [] {
    error_keeper const kept;
    ref const type = import_function("dlbridge", "Tensor");
    PyErr_Clear();
    return type && PyType_Check(type.get())
               ? type_cache::find(reinterpret_cast<PyTypeObject*>(type.get())).exchange
               : exchange_table();
  }();
  return found;
}

// A tensor through a table, whose slot keeps it when it fails.
inline ref give_by_table(exchange_table table, managed_tensor m) noexcept {
  if (!guarded([&] { m = to_versioned(std::move(m)); })) {
    return ref();
  }
  ref made = ref::steal(static_cast<PyObject*>(table.try_import(m)));
  if (!made) {
    error_keeper const kept;
    m.reset();
  }
  return made;
}

inline ref give_by_function(PyObject* function, bool capsule, managed_tensor m) noexcept {
  ref wrapped;
  if (capsule) {
    managed_tensor legacy;
    if (guarded([&] { legacy = to_legacy(std::move(m)); })) {
      wrapped = wrap_capsule(std::move(legacy));
    }
  } else {
    wrapped = wrap_tensor(std::move(m));
  }
  return wrapped ? ref::steal(PyObject_CallOneArg(function, wrapped.get())) : ref();
}
}  // namespace detail

/// A Tensor: that of the installed dlbridge, or else this extension's own.
/// owns: m, freed when it fails. GIL: held. fails: none, with a Python exception set.
inline ref give_own(managed_tensor m) noexcept {
  exchange_table const table = detail::installed_table();
  return table ? detail::give_by_table(table, std::move(m)) : wrap_tensor(std::move(m));
}

/// A tensor of a library that is named. owns, GIL, fails: as give_own, and as importing it does.
inline ref give_as(library which, managed_tensor m) noexcept {
  library_row const* const row = detail::find_library(which);
  if (row == nullptr) {
    return give_own(std::move(m));
  }
  ref const function = detail::import_function(row->module, row->function);
  if (!function) {
    error_keeper const kept;
    m.reset();
    return ref();
  }
  return detail::give_by_function(function.get(), row->capsule, std::move(m));
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
