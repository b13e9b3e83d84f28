// imported_tensor: holds the tensor of one argument during a call, lent or owned.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/check.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/pools.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/dlpack_import.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/table_import.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/detail/work_stream.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// How a function uses an argument's tensor. A parameter that writes does not borrow by an exchange
/// table: a bare DLTensor has no flag for read-only memory.
enum class import_mode : std::uint8_t { borrow_to_read, borrow_to_write, own };

/// The tensor of an object, imported by the exchange table of the object's type, by `__dlpack__`,
/// or from the fields of an ndarray. It is either lent by the object, which the caller holds, or
/// owned.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
class imported_tensor {
 public:
  imported_tensor() noexcept {}
  imported_tensor(imported_tensor&& other) noexcept
      : tensor_(other.tensor_),
        flags_(other.flags_),
        owned_(std::move(other.owned_)),
        dims_(other.dims_),
        calls_python_(other.calls_python_) {
    if (tensor_.shape == other.dims_.shape) {
      tensor_.shape = dims_.shape;
      tensor_.strides = tensor_.strides != nullptr ? dims_.strides : nullptr;
    }
  }
  DLBRIDGE_INLINE ~imported_tensor() {
    if (owned_) {
      free_owned();
    }
  }

  /// Imports the tensor of an object: by the exchange table of its type, unless that does not
  /// export what `__dlpack__` would (export_by_table); by the fields of an ndarray; else by
  /// `__dlpack__`. The mode decides whether the tensor is lent or owned. What a table returns is
  /// checked as any foreign tensor.
  /// @param where the device that the parameter requires: if that is the host, the elements of
  ///   memory to which devices write are ready for it.
  /// @return false, with a Python exception set as by consume and host_wait, when the import
  /// failed.
  /// @par Stream order
  /// The elements are ready on the stream that work_stream_of returns.
  bool import_object(PyObject* object, import_mode mode, device_filter where) noexcept {
    calls_python_ = 0;
    // try_borrow_fast may have left an exception.
    bool is_imported = PyErr_Occurred() == nullptr && import_by_table(object, mode);
    if (!is_imported && PyErr_Occurred() == nullptr) {
      is_imported = import_ndarray(object, mode);
    }
    if (!is_imported && PyErr_Occurred() == nullptr) {
      calls_python_ = 1;
      is_imported = own(detail::import_producer(object));
    }
    return is_imported && make_ready(object, where);
  }

  /// Borrows an ordinary tensor that meets the requirement.
  /// @return false in every other case; import_object then decides. An exception that is not
  ///   suppressible may be pending, with which import_object returns.
  DLBRIDGE_INLINE bool try_borrow_fast(PyObject* object, requirement const& need) noexcept {
    type_entry const* const type = type_cache::find(Py_TYPE(object));
    if (type == nullptr) {
      return false;
    }
    if (type->has_head) {
      tensor_view const& view = detail::view_of_tensor(object);
      return meets(view, need) && view.device().type == kDLCPU && describe_by(view);
    }
    if (type->is_ndarray()) {
      return detail::can_read_ndarrays(Py_TYPE(object)) &&
             detail::read_ndarray(object, tensor_, dims_, flags_) &&
             (!need.writable || flags_ == 0) && dlbridge::detail::fits_fast_path(tensor_, need);
    }
    if (!type->has_table || need.writable || !type->exchange.can_lend()) {
      return false;
    }
    flags_ = 0;
    bool const is_tested = static_cast<bool>(type->tests);
    if (!type->exchange.try_lend(object, tensor_)) {  // Python code may run, and replace the entry
      suppress_exception();                           // import_object calls __dlpack__
      return false;
    }
    return !is_complex(need.type) && copy_dims() &&
           dlbridge::detail::fits_fast_path(tensor_, need) &&
           detail::holds_its_values(tensor_, object, is_tested, detail::import_path::protocol);
  }

  /// Whether the tensor is what it was when it was lent: a Tensor, whose description never changes.
  /// @pre as for borrow_again.
  DLBRIDGE_INLINE bool is_unchanged(PyObject* object) const noexcept {
    type_entry const* const type = type_cache::find(Py_TYPE(object));
    return type != nullptr && type->has_head && tensor_.device.device_type == kDLCPU;
  }

  /// Borrows a lent tensor once more, without Python code.
  /// @pre import_object or try_borrow_fast returned true, and the tensor is lent.
  /// @return whether the tensor meets the requirement. If not, an exception may be pending.
  DLBRIDGE_NOINLINE bool borrow_again(PyObject* object, import_mode mode,
                                      requirement const& need) noexcept {
    // Looks the type up again if the type of another argument replaced its entry.
    static_cast<void>(type_cache::get(Py_TYPE(object)));
    if (try_borrow_fast(object, need)) {
      return true;
    }
    if (PyErr_Occurred() != nullptr) {
      return false;
    }
    bool const is_lent = import_by_table(object, mode) ||
                         (PyErr_Occurred() == nullptr && import_ndarray(object, mode));
    return is_lent && meets(view(), need) && make_ready(object, need.where);
  }

  /// Whether import_object imported an object without Python code: not by a `__dlpack__` that is
  /// called because the table of the type refused the object.
  bool is_read_directly(PyObject* object) const noexcept {
    type_entry const* const type = type_cache::find(Py_TYPE(object));
    return type != nullptr &&
           (type->has_head || type->is_ndarray() || (type->has_table && calls_python_ == 0));
  }

  /// Whether an object, read again without Python code, still has this owned tensor, which is to be
  /// written to or only read. True also for a copy, and for an object that only `__dlpack__` can
  /// read. An exception may be pending if not.
  DLBRIDGE_NOINLINE bool is_current(PyObject* object, bool to_write) noexcept {
    type_entry const& type = type_cache::get(Py_TYPE(object));
    if (type.has_head || view().is_copied()) {
      return true;
    }
    imported_tensor now;
    now.flags_ = 0;
    if (type.has_table && type.exchange.can_lend()) {
      return type.exchange.try_lend(object, now.tensor_)
                 ? detail::has_same_elements(now.view(), view())
                 : calls_python_ != 0 && suppress_exception();  // as at the import
    }
    bool const is_buffer = type.dlpack == nullptr && PyObject_CheckBuffer(object) != 0;
    if (!is_buffer && !detail::exports_fields(type, object)) {
      return PyErr_Occurred() == nullptr;
    }
    bool const is_described = !is_buffer && now.describe_ndarray(object);
    if (PyErr_Occurred() != nullptr ||
        !(is_described ||
          now.own(is_buffer ? from_buffer(object) : detail::import_producer(object)))) {
      return false;
    }
    return (!to_write || !now.view().read_only()) && detail::has_same_elements(now.view(), view());
  }

  /// Makes the host wait for the elements of memory to which devices write as well, such as managed
  /// memory, for a parameter that requires the host.
  /// @return false, with a Python exception set as by host_wait, on failure.
  DLBRIDGE_INLINE bool make_ready(PyObject* object, device_filter where) noexcept {
    return tensor_.device.device_type == kDLCPU || where.type != device_filter::host ||
           wait_for_elements(object);
  }

  /// @pre import_object or try_borrow_fast returned true.
  /// @par Lifetime
  /// Valid while the object lends the tensor, or while the owned tensor lives, which may have been
  /// moved out.
  tensor_view view() const noexcept { return tensor_view(tensor_, flags_); }
  DLTensor const& tensor() const noexcept { return tensor_; }
  std::uint64_t flags() const noexcept { return flags_; }
  /// Replaces the tensor by another one, which this object then owns.
  void replace(managed_tensor other) noexcept {
    free_owned();
    own(std::move(other));
  }
  /// The owned tensor, which the caller may move out; empty when the tensor is lent.
  managed_tensor& owned() noexcept { return owned_; }
  managed_tensor const& owned() const noexcept { return owned_; }
  /// Moves out the owned tensor, for code that may keep it. Its shape and strides do not change,
  /// whatever the library of the object does to the struct that it exported: PyTorch's squeeze_()
  /// and t_() write to the extents of every struct of the tensor.
  /// @param object the object that was imported.
  managed_tensor take_to_keep(PyObject* object) noexcept {
    type_entry const* const type = type_cache::find(Py_TYPE(object));
    bool const is_fixed =
        type != nullptr && (type->is_ndarray() || (type->has_table && !type->tests) ||
                            (type->known() != nullptr && type->known()->is_immutable));
    managed_tensor kept;
    if (owned_ && !is_fixed) {
      kept = dlbridge::detail::own_copied<detail::block_pool>(
          std::move(owned_), owned_.tensor(), owned_.flags(), version{stated_major, stated_minor});
    }
    return kept ? std::move(kept) : std::move(owned_);
  }

 private:
  DLBRIDGE_COLD void free_owned() noexcept {
    require_thread_state();
    error_keeper const pending;  // an exception may be pending while a foreign deleter runs
    owned_ = managed_tensor();
  }

  DLBRIDGE_INLINE bool own(managed_tensor&& m) noexcept {
    owned_.swap(m);
    if (owned_) {
      tensor_ = owned_.tensor();
      flags_ = owned_.flags();
    }
    return static_cast<bool>(owned_);
  }
  DLBRIDGE_INLINE bool describe_by(tensor_view const& view) noexcept {
    tensor_ = view.to_dltensor();
    flags_ = view.flags();
    return true;
  }

  // Also by the view of a Tensor, which was validated when the Tensor was created, and whose shape
  // and strides stay what and where they are as long as it lives. Returns false without an
  // exception when __dlpack__ is to be called, as for a Tensor that is to be owned and has a
  // stream: the slots of its table order the default stream, whereas the stream of the argument is
  // that of the Tensor. Pinned memory counts as memory of the host, for which the table makes the
  // elements ready.
  bool import_by_table(PyObject* object, import_mode mode) noexcept {
    type_entry const& type = type_cache::get(Py_TYPE(object));
    if (type.has_head) {
      tensor_view const& view = detail::view_of_tensor(object);
      bool const has_stream = runtime_of(view.device()) != runtime_kind::none;
      if (has_stream || (mode != import_mode::own && view.device().type == kDLCPU)) {
        return mode != import_mode::own && describe_by(view);
      }
    }
    if (!type.has_table) {
      return false;
    }
    if (mode != import_mode::borrow_to_read || !type.exchange.can_lend()) {
      return own(detail::export_by_table(type, object, detail::import_path::protocol));
    }
    bool const is_tested = static_cast<bool>(type.tests);
    if (!type.exchange.try_lend(object, tensor_)) {  // Python code may run, and replace the entry
      suppress_exception();
      return false;
    }
    flags_ = 0;
    report const why = check_tensor(tensor_);
    if (!why.ok()) {
      set_error(why);
      return false;
    }
    return copy_dims() ? !is_complex(dtype(tensor_.dtype)) &&
                             detail::holds_its_values(tensor_, object, is_tested,
                                                      detail::import_path::protocol)
                       : import_by_table(object, import_mode::own);
  }

  // Describes an ndarray by its fields. Returns false without an exception when __dlpack__ is to be
  // called.
  DLBRIDGE_NOINLINE bool describe_ndarray(PyObject* object) noexcept {
    return detail::can_read_fields(type_cache::get(Py_TYPE(object)), object) &&
           detail::read_ndarray(object, tensor_, dims_, flags_) &&
           detail::is_sound_ndarray(tensor_);
  }

  // Owns an ndarray, or borrows one that try_borrow_fast refused: one that does not meet the
  // requirement, or is empty or unusual. The exception of __dlpack__ states why it cannot be
  // written to. Like try_borrow_fast, free-threaded builds call __dlpack__ for an array to borrow.
  bool import_ndarray(PyObject* object, import_mode mode) noexcept {
    bool const is_lent = mode != import_mode::own;
    if ((is_lent && type_cache::find(Py_TYPE(object)) == nullptr) || !describe_ndarray(object)) {
      return false;
    }
    if (is_lent) {
      return mode == import_mode::borrow_to_read || flags_ == 0;
    }
    if (!own(detail::own_ndarray(object, tensor_, flags_, detail::version_of_ndarrays()))) {
      api<PyErr_NoMemory>();
    }
    return static_cast<bool>(owned_);
  }

  DLBRIDGE_COLD bool wait_for_elements(PyObject* object) noexcept {
    device const own(tensor_.device);
    if (runtime_of(own) == runtime_kind::none || !is_host_accessible(own)) {
      return true;
    }
    if (device_operations::get().host_wait == nullptr) {
      managed_tensor for_host = detail::import_to_host(object, own);
      if (for_host) {
        replace(std::move(for_host));
      }
      return PyErr_Occurred() == nullptr;
    }
    stream_ref const ready =
        work_stream_of(object, type_cache::get_copy(Py_TYPE(object)).exchange, own);
    return PyErr_Occurred() == nullptr && succeeded(python::try_host_wait(ready));
  }

  // Copies the shape and the strides of a lent tensor, which its library may change while Python
  // code runs. Returns false for a rank without room, and without a shape.
  DLBRIDGE_INLINE bool copy_dims() noexcept {
    if (tensor_.ndim < 0 || tensor_.ndim > detail::direct_rank ||
        (tensor_.ndim > 0 && tensor_.shape == nullptr)) {
      return false;
    }
    dlbridge::detail::copy_extents(tensor_.shape, tensor_.ndim, dims_.shape);
    tensor_.shape = dims_.shape;
    if (tensor_.strides != nullptr) {
      dlbridge::detail::copy_extents(tensor_.strides, tensor_.ndim, dims_.strides);
      tensor_.strides = dims_.strides;
    }
    return true;
  }

  // The import sets tensor_, flags_ and dims_; to initialize them here would slow every call.
  union {
    DLTensor tensor_;
  };
  union {
    std::uint64_t flags_;
  };
  managed_tensor owned_{};
  union {
    detail::copied_dims dims_;  // of a lent tensor
  };
  union {
    std::uint8_t calls_python_;  // whether import_object called __dlpack__
  };
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
