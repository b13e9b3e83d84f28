// origin: the library that an argument came from, and how a tensor becomes that library's own.
// floor 12 · OUT: from a managed tensor to the caller's own type
#pragma once

#include <cstring>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/consume.hpp>
#include <dlbridge/python/consume_request.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/owner.hpp>
#include <dlbridge/python/tensor_type.hpp>
#include <dlbridge/python/type_cache.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/traits.hpp>

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

// How tensors become objects of one Python type's library; found once for each type.
struct homecoming {
  exchange_table table;
  library_row const* row = nullptr;
  PyObject* function = nullptr;  // from_dlpack; kept for the process
};

DLBRIDGE_COLD inline homecoming find_homecoming(PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  homecoming found;
  exchange_table const table = type_cache::find(type).exchange;
  if (table && table.can_import()) {
    found.table = table;
    return found;
  }
  PyObject* const bases = type->tp_mro;  // a subclass lives in its author's module
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases) && found.row == nullptr; ++i) {
    found.row = find_library(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i)));
  }
  if (found.row != nullptr) {
    found.function = import_function(found.row->module, found.row->function).release();
  }
  PyErr_Clear();
  if (found.function == nullptr) {
    found.row = nullptr;
    ref const space = ref::steal(PyObject_CallMethodNoArgs(object, names::get().array_namespace));
    found.function = space ? PyObject_GetAttrString(space.get(), "from_dlpack") : nullptr;
    PyErr_Clear();
  }
  return found;
}

/// homecomings by type. The types are held, so that none is mistaken for another at its address.
/// thread and GIL: held. Free-threaded builds look up each time.
class homecoming_cache {
 public:
  DLBRIDGE_LOCAL static homecoming find(PyObject* object) noexcept {
#if defined(Py_GIL_DISABLED)
    return find_homecoming(object);
#else
    PyTypeObject* const type = Py_TYPE(object);
    static entry entries[size];
    entry& kept = entries[(reinterpret_cast<std::uintptr_t>(type) >> 5) % size];
    if (kept.type != type) {
      homecoming const fresh = find_homecoming(object);
      entry const old = kept;  // the function of the old one may be in use: it is leaked
      Py_INCREF(type);
      kept = {type, fresh};
      Py_XDECREF(old.type);
      return fresh;
    }
    return kept.way;
#endif
  }

 private:
  static constexpr std::size_t size = 64;
  struct entry {
    PyTypeObject* type = nullptr;
    homecoming way;
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

/// Where an argument came from. Holds the object.
/// thread and GIL: held in give, allocate and copying; it may be dropped anywhere.
class origin {
 public:
  explicit origin(PyObject* object) noexcept : object_(object) { Py_INCREF(object); }
  origin(origin&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  origin(origin const& other) noexcept : object_(other.object_) { Py_XINCREF(object_); }
  origin& operator=(origin other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~origin() { release_object(object_); }

  PyObject* object() const noexcept { return object_; }

  /// The tensor as an object of the same library: by its exchange table, by its from_dlpack, by
  /// that of its __array_namespace__, or as a Tensor where it has none of them.
  /// owns: m, freed when it fails. fails: none, with a Python exception set.
  ref give(managed_tensor m) const noexcept {
    detail::homecoming const way = detail::homecoming_cache::find(object_);
    if (way.table) {
      return detail::give_by_table(way.table, std::move(m));
    }
    return way.function != nullptr
               ? detail::give_by_function(way.function, way.row != nullptr && way.row->capsule,
                                          std::move(m))
               : give_own(std::move(m));
  }

  /// A new row-major tensor of the same library's making, on a device; host memory of our own where
  /// the library has no allocator. born is the object it is a view of, where there is one already.
  /// fails: empty, with a Python exception set.
  managed_tensor allocate(dtype type, dims const& shape, device where, ref& born) const noexcept {
    detail::homecoming const way = detail::homecoming_cache::find(object_);
    managed_tensor made;
    if (way.table && way.table.can_allocate()) {
      DLTensor prototype{};
      prototype.dtype = type.abi();
      prototype.device = where.abi();
      prototype.ndim = shape.size();
      prototype.shape = const_cast<std::int64_t*>(shape.data());
      report why;
      made = way.table.try_allocate(prototype, why);
      if (!why.ok()) {
        set_error(why);
      }
    } else if (way.row != nullptr && way.row->empty != nullptr) {
      made = make_empty(*way.row, type, shape, born);
    } else if (!is_host_accessible(where)) {
      report r = refusal(errc::device_mismatch, "an allocator for ", Py_TYPE(object_)->tp_name,
                         "Take the result as an argument of its own");
      r.expected.append(name_of(where).c_str());
      set_error(r);
    } else {
      guarded([&] { made = build_empty(type, shape); });
    }
    return made;
  }

  /// The stream on which the library works now on a device; its default one where it cannot tell.
  stream_ref stream(device where) const noexcept {
    stream_ref found = stream_ref::default_of(where);
    exchange_table const table = runtime_of(where) == runtime_kind::none || object_ == nullptr
                                     ? exchange_table()
                                     : type_cache::find(Py_TYPE(object_)).exchange;
    if (table && table.knows_stream() && !table.try_work_stream(where, found)) {
      PyErr_Clear();
    }
    return found;
  }

 private:
  managed_tensor make_empty(library_row const& row, dtype type, dims const& shape,
                            ref& born) const noexcept {
    ref const function = detail::import_function(row.module, row.empty);
    ref extents = ref::steal(PyTuple_New(shape.size()));
    for (int i = 0; extents && i < shape.size(); ++i) {
      PyTuple_SET_ITEM(extents.get(), i, PyLong_FromLongLong(shape[i]));
    }
    ref const name = ref::steal(PyUnicode_FromString(name_of(type).c_str()));
    if (!function || !extents || !name || PyErr_Occurred() != nullptr) {
      return managed_tensor();
    }
    born = ref::steal(
        PyObject_CallFunctionObjArgs(function.get(), extents.get(), name.get(), nullptr));
    return born ? consume(born.get(), consume_request()) : managed_tensor();
  }

  PyObject* object_;
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
