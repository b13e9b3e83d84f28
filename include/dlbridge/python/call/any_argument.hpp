// any_argument: a tensor of any dtype and rank together with the library that its Python object
// belongs to, which allocates and receives results whose dtype is known at run time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/any_tensor.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

template <class T, class Shape, class... Constraints>
class argument;

/// An owning tensor parameter of any dtype, rank and device, with its origin: the library of the
/// Python object that the caller passed. Move-only. Also the type of a result whose dtype is known
/// at run time only.
///
/// A result of this type returns to Python as an object of the origin's library.
/// @par Lifetime, Thread and GIL
/// As argument.
class any_argument {
 public:
  /// A result of a library, for casters and def.
  /// @param tensor the tensor
  /// @param from the library that the tensor came from
  /// @param object the tensor's Python object, if one exists already
  any_argument(managed_tensor tensor, python::origin from,
               python::ref object = python::ref()) noexcept
      : tensor_(std::move(tensor)), origin_(std::move(from)), object_(std::move(object)) {}

  /// The view of the tensor, valid as long as this object owns it.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return tensor_.view(); }
  tensor_view view() const&& = delete;  ///< dangles: keep it in a variable
  /// As view().
  /// @throws error null_data, when this object was released or moved from; as() and visit() too
  operator tensor_view() const& DLBRIDGE_LIFETIMEBOUND { return tensor_; }
  operator tensor_view() const&& = delete;  ///< dangles: keep it in a variable
  /// The dtype of the elements.
  dlbridge::dtype dtype() const noexcept { return tensor_.view().dtype(); }
  dlbridge::device device() const noexcept { return tensor_.view().device(); }  ///< The device.

  /// A typed view of the tensor, valid as long as this object owns the tensor.
  /// @throws error as check_view, with every broken rule in one message.
  template <class T, class Shape = dynamic_rank, class... Constraints>
  tensor_span<T, Shape, Constraints...> as() const& DLBRIDGE_LIFETIMEBOUND {
    return tensor_span<T, Shape, Constraints...>(tensor_view(tensor_));
  }
  template <class T, class Shape = dynamic_rank, class... Constraints>
  tensor_span<T, Shape, Constraints...> as() const&& = delete;  ///< dangles: keep it in a variable

  /// The stream that the origin's library currently uses on the tensor's device.
  /// @pre The caller holds the GIL.
  /// @throws python_error after an exception such as KeyboardInterrupt
  stream_ref stream() const { return origin_.stream(device()); }
  python::origin const& origin() const noexcept { return origin_; }  ///< The library.

  /// Allocates a row-major tensor of the same library on the same device. Its elements are
  /// uninitialized.
  /// @param type the dtype of the elements
  /// @param extents the extents, outermost first
  /// @return the new tensor, with the same origin
  /// @throws python_error with the exception of the library, when its allocator fails, and with
  /// ValueError, when no tensor has the extents
  /// @throws error null_data, when this object was moved from
  any_argument empty_like(dlbridge::dtype type, dims const& extents) const;
  /// Allocates a tensor of a dtype with the extents of this tensor, in the same way.
  any_argument empty_like(dlbridge::dtype type) const;
  /// Allocates a tensor with the dtype and the extents of this tensor, in the same way.
  any_argument empty_like() const;

  /// Allocates a row-major tensor of a library on a device. Acquires the GIL. The origin is `from`.
  /// @throws python_error as empty_like
  static any_argument allocate(python::origin const& from, dlbridge::dtype type,
                               dims const& extents, dlbridge::device where);

  /// Releases the tensor to the caller without freeing it. The origin is dropped.
  [[nodiscard]] managed_tensor release() && noexcept { return std::move(tensor_); }

  /// Converts the tensor to a Python object of the origin's library, as argument::give.
  /// @return the object, or an empty ref with a Python exception set
  [[nodiscard]] python::ref give(result_choice as = {}) && noexcept;

 private:
  template <class T, class Shape, class... Constraints>
  friend class argument;
  any_argument(managed_tensor tensor, python::origin from, python::object_owner object) noexcept
      : tensor_(std::move(tensor)), origin_(std::move(from)), object_(std::move(object)) {}

  managed_tensor tensor_;
  python::origin origin_;
  python::object_owner object_;
};

/// Calls a function with a typed view for writing, as visit of an any_tensor.
/// @throws error null_data, dtype_mismatch, device_mismatch, misaligned, read_only
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(any_argument& tensor, Visitor&& visitor) {
  return detail::visit_types<void>(tensor_view(tensor), visitor, List{});
}
/// Calls a function with a typed view for reading, as visit of a const any_tensor.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(any_argument const& tensor, Visitor&& visitor) {
  return detail::visit_types<void const>(tensor_view(tensor), visitor, List{});
}

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/any_argument.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/any_argument.ipp>
#endif
