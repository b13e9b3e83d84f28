// any_tensor, any_of, visit: a tensor of any dtype, or of one of several, and the selection of its
// element type at run time.
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

/// The owner of a tensor of any dtype, rank and device. visit passes the element type to a
/// function.
/// @par Ownership
/// Move-only. A moved-from object is empty.
class any_tensor {
 public:
  any_tensor() noexcept = default;  ///< Empty.
  /// Takes a tensor, without a check.
  explicit any_tensor(managed_tensor owned) noexcept : owned_(std::move(owned)) {}

  /// Whether this object owns a tensor.
  explicit operator bool() const noexcept { return static_cast<bool>(owned_); }
  /// The view of the tensor, valid as long as this object owns it.
  /// @pre This object owns a tensor.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return owned_.view(); }
  tensor_view view() const&& = delete;  ///< dangles: keep it in a variable
  /// The same view. @throws error null_data (this object is empty); also as() and visit().
  operator tensor_view() const& DLBRIDGE_LIFETIMEBOUND { return owned_; }
  operator tensor_view() const&& = delete;  ///< dangles: keep it in a variable
  /// The dtype. @pre This object owns a tensor.
  dlbridge::dtype dtype() const noexcept { return owned_.view().dtype(); }

  /// A typed view of the tensor, valid as long as this object owns the tensor.
  /// @throws error as check_view, with every broken rule in one message.
  template <class T, class Shape = dynamic_rank, class... Constraints>
  tensor_span<T, Shape, Constraints...> as() const& DLBRIDGE_LIFETIMEBOUND {
    return tensor_span<T, Shape, Constraints...>(tensor_view(owned_));
  }
  template <class T, class Shape = dynamic_rank, class... Constraints>
  tensor_span<T, Shape, Constraints...> as() const&& = delete;  ///< dangles: keep it in a variable

  /// Releases the tensor, which the caller then owns, without freeing it.
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

/// A view of a tensor that has one of several element types, which visit selects. As a parameter it
/// refuses other dtypes, as the signature states.
/// @tparam List The element types, as types<...>: all T const, or all T for writable memory.
/// @tparam More The shape and the constraints, as of tensor_span, without converted.
/// @par Lifetime
/// Valid as long as the tensor of the view.
template <class List, class... More>
class any_of;
/// The members of any_of.
template <class First, class... Rest, class... More>
class any_of<types<First, Rest...>, More...> {
 public:
  /// The requirement that this type checks.
  static constexpr requirement required() noexcept;

  /// Checks a view. @throws error as check_view, with every broken rule in one message.
  explicit any_of(tensor_view const& view)
      : any_of((require_view(view, required()), trust(view))) {}
  any_of(managed_tensor const&&) = delete;  ///< dangles: keep it in a variable
  /// Creates one without checks. @pre The view meets required().
  static any_of trust(tensor_view const& view) noexcept { return any_of(span::trust(view)); }

  /// The dtype of the tensor, which is one of the list.
  dlbridge::dtype dtype() const noexcept { return view_.dtype(); }
  /// The view for other functions. Of const elements it is read-only.
  tensor_view view() const noexcept { return view_; }
  operator tensor_view() const noexcept { return view_; }  ///< As view().

 private:
  using span = tensor_span<First, More...>;
  explicit any_of(span const& checked) noexcept : view_(checked.view()) {}

  tensor_view view_;
};
/// The owner of a tensor of one of several element types, for a function that keeps or returns it.
/// The template parameters are those of any_of. Move-only.
template <class List, class... More>
class any_tensor_of : public any_of<List, More...> {
 public:
  /// Takes a tensor and checks it.
  /// @throws error null_data (the owner is empty), or as any_of. The tensor is then freed.
  explicit any_tensor_of(managed_tensor owned)
      : any_of<List, More...>(detail::require_owner(owned).view()), owned_(std::move(owned)) {}

  /// Releases the tensor without freeing it.
  [[nodiscard]] managed_tensor release() && noexcept { return std::move(owned_); }

 private:
  managed_tensor owned_;
};

namespace detail {
template <class Access, class Visitor, class First, class... Rest>
decltype(auto) visit_types(tensor_view const& view, Visitor& visitor, types<First, Rest...>);
}  // namespace detail

/// Calls a function with a typed view of a tensor whose element type is known at run time only.
/// @tparam List The element types to support, as types<...>.
/// @param view The view, of memory that the CPU can access.
/// @param visitor Called as visitor(tensor_span<T const>), with T the element type. It must return
///   the same type for every T.
/// @return The result of the visitor.
/// @throws error dtype_mismatch (List has no type with the dtype of the tensor), device_mismatch
///   (the CPU cannot access the memory), misaligned.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(tensor_view const& view, Visitor&& visitor);
/// Calls a function with a typed view for reading an any_tensor, as visit of a tensor_view.
/// @throws error null_data (the any_tensor is empty), or as for a tensor_view.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(any_tensor const& tensor, Visitor&& visitor);
/// Calls a function with a typed view for writing to an any_tensor: visitor(tensor_span<T>).
/// @throws error read_only, or as for a const any_tensor.
template <class List = arithmetic_types, class Visitor>
decltype(auto) visit(any_tensor& tensor, Visitor&& visitor);

template <class First, class Second, class... Rest, class Tensor, class Visitor>
void visit(Tensor const&, Visitor&&) = delete;  ///< write visit<types<float, double>>(tensor, f)

/// Calls a function with a typed view that has the shape and the constraints of an any_of.
/// @return The result of the visitor.
template <class... T, class... More, class Visitor>
decltype(auto) visit(any_of<types<T...>, More...> const& tensor, Visitor&& visitor) {
  return detail::visit_types<any_of<types<T...>, More...>>(tensor.view(), visitor, types<T...>());
}

DLBRIDGE_END_NAMESPACE

#include <dlbridge/any_tensor.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/any_tensor.ipp>
#endif
