// origin: the library that an argument came from; allocates tensors of that library and returns
// tensors as its objects.
// layer: call · from an argument to results of the same library
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/call/detail/export_path.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/consume.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/traits.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

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
    detail::export_path const path = detail::export_path_cache::find(object_);
    if (path.table) {
      return detail::give_by_table(path.table, std::move(m));
    }
    return path.function != nullptr
               ? detail::give_by_function(path.function, path.row != nullptr && path.row->capsule,
                                          std::move(m))
               : give_own(std::move(m));
  }

  /// A new row-major tensor of the same library's making, on a device; host memory of our own where
  /// the library has no allocator. born is the object it is a view of, where there is one already.
  /// fails: empty, with a Python exception set.
  managed_tensor allocate(dtype type, dims const& shape, device where, ref& born) const noexcept {
    detail::export_path const path = detail::export_path_cache::find(object_);
    managed_tensor made;
    if (path.table && path.table.can_allocate()) {
      DLTensor prototype{};
      prototype.dtype = type.abi();
      prototype.device = where.abi();
      prototype.ndim = shape.size();
      prototype.shape = const_cast<std::int64_t*>(shape.data());
      report why;
      made = path.table.try_allocate(prototype, why);
      if (!why.ok()) {
        set_error(why);
      }
    } else if (path.row != nullptr && path.row->empty != nullptr) {
      made = make_empty(*path.row, type, shape, born);
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
    if (table && table.has_work_stream() && !table.try_work_stream(where, found)) {
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
