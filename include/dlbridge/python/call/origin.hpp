// origin: allocates tensors of the library that an argument came from, and converts tensors to its
// objects.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/detail/path_to_library.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// The library that an argument came from. An origin owns a reference to the argument's object.
/// @par Thread and GIL
/// The caller of give(), allocate(), stream() and the copy operations holds the GIL. Any thread may
/// destroy an origin.
class origin {
 public:
  /// The library of an object.
  /// @param object the object of the argument
  /// @param is_argument whether this is the origin of the tensor that the object lends; a copy of
  ///   an origin is that of another tensor
  explicit origin(PyObject* object, bool is_argument = false) noexcept
      : object_(object), is_argument_(is_argument) {
    Py_INCREF(object);
  }
  /// Moves the reference.
  origin(origin&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), is_argument_(other.is_argument_) {}
  /// The library of another tensor of the same object.
  origin(origin const& other) noexcept : object_(other.object_) { Py_XINCREF(object_); }
  origin& operator=(origin other) noexcept;  ///< Drops the former one.
  ~origin() { release_object(object_); }

  PyObject* object() const noexcept { return object_; }  ///< The object, borrowed.

  /// Converts a tensor to an object of the same library. Uses, in this order, the exchange table of
  /// the object's type, NumPy's C API, the library's from_dlpack, and the from_dlpack of the
  /// object's `__array_namespace__`. Without any of them, and where this origin was moved from, the
  /// object is of the library that init states, else of NumPy without `__dlpack__`, else a Tensor.
  /// @param m the tensor
  /// @param narrows whether the result may be rounded, as `narrow` states
  /// @return the object, or an empty ref with a Python exception set
  /// @par Ownership
  /// Takes m; on failure m is freed.
  ref give(managed_tensor m, bool narrows = false) const noexcept;

  /// Converts the tensor of this origin to a result: for a tensor on the memory of the argument the
  /// argument's object itself, which the caller passed, unless `as` names another library.
  /// Otherwise as give, or as give_as.
  /// @param m the tensor
  /// @param object the library's array that owns the memory, if the allocator returned one
  /// @param as as of give_result
  /// @return as give
  ref give_back(managed_tensor m, ref object, result_choice as) const noexcept;

  /// Allocates a row-major tensor by the library's allocator, or host memory of this library where
  /// the library has none.
  /// @param type the dtype of the elements
  /// @param shape the extents; ValueError if they are more than 64 or negative
  /// @param where the device
  /// @param object receives the library's array that owns the memory, if the allocator returned one
  /// @return the tensor, or an empty one with a Python exception set
  managed_tensor allocate(dtype type, dims const& shape, device where, ref& object) const noexcept;

  /// The stream that the library currently uses on a device, as work_stream_of finds it;
  /// the device's default stream where the library reports none
  /// @throws python_error after an exception such as KeyboardInterrupt
  stream_ref stream(device where) const;

 private:
  managed_tensor make_empty(library_row const& row, dtype type, dims const& shape,
                            ref& object) const noexcept;

  PyObject* object_;
  bool is_argument_ = false;
};

namespace detail {
// Converts a tensor to an object of the library of the call whose C++ function runs, or else as
// give_stated.
ref give_default(managed_tensor m, bool narrows = false) noexcept;
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/origin.ipp>
#endif
