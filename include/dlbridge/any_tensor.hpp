// any_tensor, visit: own a tensor of any dtype, and select its element type at run time.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// The owner of a tensor of any dtype and rank on any device. visit calls a function with the
/// element type.
///
/// @par Ownership
/// Move-only. A moved-from object is empty.
class any_tensor {
 public:
  any_tensor() noexcept = default;
  explicit any_tensor(managed_tensor owned) noexcept : owned_(std::move(owned)) {}

  /// Whether this object owns a tensor.
  explicit operator bool() const noexcept { return static_cast<bool>(owned_); }
  /// @pre This object owns a tensor.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return owned_.view(); }
  tensor_view view() const&& = delete;  // dangles: keep it in a variable
  /// @throws error null_data (this object is empty); also as() and visit().
  operator tensor_view() const& DLBRIDGE_LIFETIMEBOUND { return owned_; }
  operator tensor_view() const&& = delete;  // dangles: keep it in a variable
  /// @pre This object owns a tensor.
  dlbridge::dtype dtype() const noexcept { return owned_.view().dtype(); }

  /// A typed view of the tensor, valid as long as this object owns the tensor.
  /// @throws error as check_view, with every broken rule in one message.
  template <class T, class Shape = dynamic_rank, class... Constraints>
  tensor_span<T, Shape, Constraints...> as() const& DLBRIDGE_LIFETIMEBOUND {
    return tensor_span<T, Shape, Constraints...>(tensor_view(owned_));
  }
  template <class T, class Shape = dynamic_rank, class... Constraints>
  tensor_span<T, Shape, Constraints...> as() const&& = delete;  // dangles: keep it in a variable

  /// Releases the tensor without freeing it.
  [[nodiscard]] managed_tensor release() && noexcept { return std::move(owned_); }

 private:
  managed_tensor owned_{};
};

/// A list of element types for visit.
template <class... T>
struct types {};
/// The arithmetic types of C++ that have a dtype.
using arithmetic_types =
    types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
          std::uint32_t, std::uint64_t, float, double>;

/// Calls a function with a typed view of a tensor whose element type is known at run time only.
///
/// @tparam List The element types to support, as types<...>.
/// @param view The view, of memory that the CPU can access.
/// @param visitor Called as visitor(tensor_span<T const>), with T the element type. It must return
///   the same type for every T.
/// @return The result of the visitor.
/// @throws error dtype_mismatch (List has no type with the dtype of the tensor), device_mismatch
///   (the CPU cannot access the memory), misaligned.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(tensor_view const& view, Visitor&& visitor);
/// The same for an any_tensor.
/// @throws error null_data (the any_tensor is empty), or as for a tensor_view.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(any_tensor const& tensor, Visitor&& visitor);
/// The same for writing: the function calls visitor(tensor_span<T>).
/// @throws error read_only, or as for a const any_tensor.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(any_tensor& tensor, Visitor&& visitor);

namespace detail {
template <class Access, class Visitor, class First, class... Rest>
decltype(auto) visit_types(tensor_view const& view, Visitor& visitor, types<First, Rest...> list);
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/any_tensor.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/any_tensor.ipp>
#endif
