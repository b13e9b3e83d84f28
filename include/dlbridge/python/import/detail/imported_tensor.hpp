// imported_tensor: holds the tensor of one argument during a call, lent or owned.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/table_import.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// How a function uses an argument's tensor. A parameter that writes does not borrow by an exchange
/// table, as a bare DLTensor has no flag for read-only memory. PyTorch has no read-only tensors.
enum class import_mode : std::uint8_t { borrow_to_read, borrow_to_write, own };

/// The tensor of an object, imported by the exchange table of the object's type, by `__dlpack__`,
/// or from the fields of an ndarray. It is either lent by the object, which the caller holds, or
/// owned.
/// @par Thread and GIL
/// The caller holds the GIL in every member and in the destructor.
class imported_tensor {
 public:
  imported_tensor() noexcept {}
  imported_tensor(imported_tensor&& other) noexcept;
  DLBRIDGE_INLINE ~imported_tensor();

  /// Imports the tensor of an object: by the exchange table of its type, unless that does not
  /// export what `__dlpack__` would (export_by_table); by the fields of an ndarray; else by
  /// `__dlpack__`. The mode decides whether the tensor is lent or owned. What a table returns is
  /// checked as any foreign tensor.
  /// @param where the device that the parameter requires: if that is the host, the elements of
  ///   memory to which devices write are ready for it.
  /// @return false, with a Python exception set as by import_tensor and host_wait, when the import
  /// failed.
  /// @par Stream order
  /// The elements are ready on the stream that work_stream_of returns.
  bool import_object(PyObject* object, import_mode mode, device_filter where) noexcept;

  /// Borrows an ordinary tensor that meets the requirement.
  /// @return false in every other case; import_object then decides. An exception that is not
  ///   suppressible may be pending, with which import_object returns.
  DLBRIDGE_INLINE bool try_borrow_fast(PyObject* object, requirement const& need) noexcept;

  /// Whether the tensor is what it was when it was lent: a Tensor, whose description never changes.
  /// @pre as for borrow_again.
  DLBRIDGE_INLINE bool is_unchanged(PyObject* object) const noexcept;

  /// Borrows a lent tensor once more, without Python code.
  /// @pre import_object or try_borrow_fast returned true, and the tensor is lent.
  /// @return whether the tensor meets the requirement. If not, an exception may be pending.
  bool borrow_again(PyObject* object, import_mode mode, requirement const& need) noexcept;

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
  bool is_current(PyObject* object, bool to_write) noexcept;

  /// Makes the host wait for the elements of memory to which devices write as well, such as managed
  /// memory, for a parameter that requires the host.
  /// @return false, with a Python exception set as by host_wait, on failure.
  DLBRIDGE_INLINE bool make_ready(PyObject* object, device_filter where) noexcept;

  /// @pre import_object or try_borrow_fast returned true.
  /// @par Lifetime
  /// Valid while the object lends the tensor, or while the owned tensor lives, which may have been
  /// moved out.
  tensor_view view() const noexcept { return tensor_view(tensor_, flags_); }
  DLTensor const& tensor() const noexcept { return tensor_; }
  std::uint64_t flags() const noexcept { return flags_; }
  /// Replaces the tensor by another one, which this object then owns.
  void replace(managed_tensor other) noexcept;
  /// The owned tensor, which the caller may move out; empty when the tensor is lent.
  managed_tensor& owned() noexcept { return owned_; }
  managed_tensor const& owned() const noexcept { return owned_; }
  /// Moves out the owned tensor, for code that may keep it. Its shape and strides do not change,
  /// whatever the library of the object does to the struct that it exported: PyTorch's squeeze_()
  /// and t_() write to the extents of every struct of the tensor.
  /// @param object the object that was imported.
  managed_tensor take_to_keep(PyObject* object) noexcept;

 private:
  DLBRIDGE_COLD void free_owned() noexcept;

  DLBRIDGE_INLINE bool own(managed_tensor&& m) noexcept;
  DLBRIDGE_INLINE bool describe_by(tensor_view const& view) noexcept;

  // Also by the view of a Tensor, which was validated when the Tensor was created, and whose shape
  // and strides stay what and where they are as long as it lives. Returns false without an
  // exception when __dlpack__ is to be called, as for a Tensor that is to be owned and has a
  // stream: the slots of its table order the default stream, whereas the stream of the argument is
  // that of the Tensor. Pinned memory counts as memory of the host, for which the table makes the
  // elements ready.
  bool import_by_table(PyObject* object, import_mode mode) noexcept;

  // Describes an ndarray by its fields. Returns false without an exception when __dlpack__ is to be
  // called.
  bool describe_ndarray(PyObject* object) noexcept;

  // Owns an ndarray, or borrows one that try_borrow_fast refused: one that does not meet the
  // requirement, or is empty or unusual. The exception of __dlpack__ states why it cannot be
  // written to. Like try_borrow_fast, free-threaded builds call __dlpack__ for an array to borrow.
  bool import_ndarray(PyObject* object, import_mode mode) noexcept;

  DLBRIDGE_COLD bool wait_for_elements(PyObject* object) noexcept;

  // Copies the shape and the strides of a lent tensor, which its library may change while Python
  // code runs. Returns false for a rank without room, and without a shape.
  DLBRIDGE_INLINE bool copy_dims() noexcept;

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
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/import/detail/imported_tensor.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/imported_tensor.ipp>
#endif
