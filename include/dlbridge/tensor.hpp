// tensor, tensor_span: give typed access to the elements of a tensor, as owner and as view.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/constraints.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/conversion_rules.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// The view of a tensor_span, and the strides of a known rank. It is a member, because calls with a
// span would find the functions of this namespace if it were a base class.
template <int Rank, bool = (Rank > 0)>
struct span_parts {
  template <class... From>
  DLBRIDGE_INLINE explicit span_parts(From const&... from) noexcept : view(from...) {}
  tensor_view view;
  std::int64_t strides[static_cast<std::size_t>(Rank)];
};
template <int Rank>
struct span_parts<Rank, false> {
  template <class... From>
  DLBRIDGE_INLINE explicit span_parts(From const&... from) noexcept : view(from...) {}
  tensor_view view;
};

// Whether a span of type From becomes one of type To without a check.
template <class From, class To>
constexpr bool is_widened =
    std::is_same_v<typename From::element_type const, typename To::element_type const> &&
    !std::is_same_v<From, To> && implies(From::required(), To::required());
}  // namespace detail

/// A non-owning view of a tensor whose dtype, shape and constraints have been checked.
/// @tparam T The element type. T const accepts read-only memory, T refuses it.
/// @tparam Shape shape<...> or dynamic_rank.
/// @tparam Constraints row_major, column_major, compact, on<...>, aligned<...>, converted or
///   by_value.
/// @par Lifetime
/// Valid as long as the tensor of the view.
template <class T, class Shape = dynamic_rank, class... Constraints>
class tensor_span {
  using facts = detail::shape_facts<Shape>;
  static constexpr bool is_converted = detail::is_converted<Constraints...>;
  static_assert((detail::is_constraint<Constraints> && ...),
                "dlbridge: a constraint is row_major, column_major, compact, on<...>, on_host, "
                "on_cuda, on_rocm, anywhere, aligned<...>, converted or by_value");
  static_assert((0 + ... + int{detail::is_layout<Constraints>}) <= 1,
                "dlbridge: a tensor has one of row_major, column_major and compact");
  static_assert((0 + ... + int{detail::is_device_filter<Constraints>}) <= 1,
                "dlbridge: a tensor has one of on<...>, on_host, on_cuda, on_rocm and anywhere");
  static_assert(!is_converted || std::is_const_v<T>,
                "dlbridge: a converted tensor is T const, as what a function writes to a copy is "
                "lost");
  static_assert(!is_converted ||
                    (converts_to(dtype_of<T>(), dtype_of<T>()) &&
                     (detail::is_by_value<Constraints...> || dtype_of<T>() != dtype_of<bool>())),
                "dlbridge: a tensor is converted to integers, floats or complex numbers, and to "
                "bool by_value");
  static_assert(!is_converted ||
                    detail::device_filter_type<Constraints...>() == device_filter::host ||
                    detail::device_filter_type<Constraints...>() == device_filter::anywhere,
                "dlbridge: only the CPU converts tensors. Remove converted or on<...>");

 public:
  using element_type = T;  ///< The element type, const for read-only access.
  /// Whether Shape fixes the rank.
  static constexpr bool has_static_rank = facts::rank != requirement::any_rank;

  /// The requirement that this type checks.
  static constexpr requirement required() noexcept;

  tensor_span() = delete;
  /// Checks a view against required().
  /// @param view The view of the tensor.
  /// @throws error as check_view, with every broken rule in one message.
  DLBRIDGE_INLINE explicit tensor_span(tensor_view const& view);
  tensor_span(managed_tensor const&&) = delete;  ///< dangles: keep it in a variable
  tensor_span(DLTensor const&) = delete;  ///< not checked yet: write tensor_span<T>(view_of(t))
  tensor_span(DLTensor const*) = delete;  ///< not checked yet: write tensor_span<T>(view_of(*t))
  template <class Array, class = detail::if_no_view<Array>>
  tensor_span(Array const&) = delete;  ///< keep t = build_on(no_owner{}, describe(array))
  /// A span of another type that requires at least as much, such as one for writing or with an
  /// extent that is known.
  template <class U, class S, class... Others,
            class = std::enable_if_t<detail::is_widened<tensor_span<U, S, Others...>,
                                                        tensor_span<T, Shape, Constraints...>>>>
  tensor_span(tensor_span<U, S, Others...> const& other) noexcept
      : tensor_span(tensor_view(other), trusted()) {}
  /// Does not compile: a span of const elements is for reading only.
  template <class U, class S, class... Others,
            class = std::enable_if_t<!std::is_const_v<T> && std::is_same_v<U, T const>>,
            class = void>
  explicit tensor_span(tensor_span<U, S, Others...> const& other) = delete;
  /// A span of a view, without checks.
  /// @pre The view meets required().
  static tensor_span trust(tensor_view const& view) noexcept {
    return tensor_span(view, trusted());
  }
  /// A span of a struct and its flags, without checks, which saves a copy of a view.
  static tensor_span trust(DLTensor const& t DLBRIDGE_LIFETIMEBOUND, std::uint64_t flags) noexcept {
    return tensor_span(t, flags, trusted());
  }

  /// The address of the first element, or the handle of the memory on devices without addresses.
  T* data() const noexcept { return static_cast<T*>(const_cast<void*>(parts_.view.data())); }
  int rank() const noexcept { return parts_.view.rank(); }  ///< The number of dimensions.
  std::int64_t extent(int i) const noexcept { return parts_.view.extent(i); }  ///< The i-th extent.
  /// The stride of dimension i, in elements.
  std::int64_t stride(int i) const noexcept;
  /// The number of elements.
  std::int64_t count() const noexcept { return parts_.view.count(); }
  dlbridge::device device() const noexcept { return parts_.view.device(); }  ///< The device.
  /// The view for other functions. Of a span of const elements it is read-only.
  tensor_view view() const noexcept;
  operator tensor_view() const noexcept { return view(); }  ///< As view().

  /// The element at the indices, one for each dimension. Requires a static rank, and constraints
  /// under which the CPU can access the memory.
  /// @pre Each index is at least 0 and below the extent; this is not checked.
  template <class... Index>
  T& operator()(Index... index) const noexcept;
  /// The element at the indices, which are checked.
  /// @throws std::out_of_range an index is below 0 or beyond the last (IndexError in Python).
  template <class... Index>
  T& at(Index... index) const;
  /// x[i] is x(i), of rank 1.
  template <class Index>
  T& operator[](Index index) const noexcept {
    return (*this)(index);
  }

 private:
  // Whether the CPU can index memory of these constraints.
  static constexpr bool is_indexable() noexcept;
  struct trusted {};
  DLBRIDGE_INLINE tensor_span(tensor_view const& view, trusted) noexcept : parts_(view) {
    keep_strides(view.shape(), view.strides());
  }
  DLBRIDGE_INLINE tensor_span(DLTensor const& t, std::uint64_t flags, trusted) noexcept
      : parts_(t, flags) {
    keep_strides(t.shape, t.strides);
  }
  DLBRIDGE_INLINE void keep_strides([[maybe_unused]] std::int64_t const* shape,
                                    [[maybe_unused]] std::int64_t const* strides) noexcept;

  detail::span_parts<facts::rank> parts_;
};

/// The owner of a tensor whose dtype, shape and constraints have been checked. The template
/// parameters are those of tensor_span.
/// @par Ownership
/// Move-only. A moved-from object may only be destroyed or assigned to.
template <class T, class Shape = dynamic_rank, class... Constraints>
class tensor {
 public:
  using span_type = tensor_span<T, Shape, Constraints...>;  ///< The view of the owner.
  using element_type = T;                                   ///< As of tensor_span.

  /// The requirement that this type checks.
  static constexpr requirement required() noexcept { return span_type::required(); }

  /// Takes ownership of a tensor and checks it against required().
  /// @param owned The tensor. If the check fails, the constructor frees it.
  /// @throws error null_data (the owner is empty), or as check_view.
  explicit tensor(managed_tensor owned)
      : span_(detail::require_owner(owned).view()), owned_(std::move(owned)) {}
  /// Takes ownership of a tensor of another type that requires at least as much, such as one of
  /// elements that are not const.
  /// @throws error null_data (other was released or moved from).
  template <class U, class S, class... Others,
            class = std::enable_if_t<detail::is_widened<tensor_span<U, S, Others...>, span_type>>>
  tensor(tensor<U, S, Others...>&& other)
      : tensor{span_type::trust(tensor_view(other)), std::move(other).release()} {}
  /// Takes ownership of a tensor without checks.
  /// @pre The tensor meets required().
  static tensor trust(managed_tensor owned) noexcept;

  /// The address of the first element, or the handle of the memory on devices without addresses.
  T* data() const& noexcept DLBRIDGE_LIFETIMEBOUND { return span_.data(); }
  T* data() const&& = delete;  ///< dangles: keep it in a variable
  /// The number of dimensions.
  int rank() const noexcept { return span_.rank(); }
  /// The extent of dimension i.
  std::int64_t extent(int i) const noexcept { return span_.extent(i); }
  /// The stride of dimension i, in elements.
  std::int64_t stride(int i) const noexcept { return span_.stride(i); }
  /// The number of elements.
  std::int64_t count() const noexcept { return span_.count(); }
  /// The device of the memory.
  dlbridge::device device() const noexcept { return span_.device(); }

  /// The span of the tensor.
  span_type const& span() const& noexcept DLBRIDGE_LIFETIMEBOUND { return span_; }
  /// The view for other functions. Of a tensor of const elements it is read-only.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return span_.view(); }
  /// As view(). @throws error null_data, when the tensor was released or moved from.
  operator tensor_view() const& DLBRIDGE_LIFETIMEBOUND;
  span_type const& span() const&& = delete;  ///< dangles: keep it in a variable
  tensor_view view() const&& = delete;       ///< dangles: keep it in a variable
  operator tensor_view() const&& = delete;   ///< dangles: keep it in a variable

  /// The element at the indices, one for each dimension, as tensor_span::operator().
  template <class... Index>
  T& operator()(Index... index) const noexcept DLBRIDGE_LIFETIMEBOUND {
    return span_(index...);
  }
  /// x[i] is x(i), of rank 1.
  template <class Index>
  T& operator[](Index index) const noexcept DLBRIDGE_LIFETIMEBOUND {
    return span_[index];
  }
  /// The element at the indices, which are checked. @throws std::out_of_range as tensor_span::at
  template <class... Index>
  T& at(Index... index) const DLBRIDGE_LIFETIMEBOUND {
    return span_.at(index...);
  }

  /// Releases the tensor without freeing it. Its flags stay those of the memory: that of a tensor
  /// of const elements may be writable.
  [[nodiscard]] managed_tensor release() && noexcept { return std::move(owned_); }

 private:
  tensor(span_type const& span, managed_tensor&& owned) noexcept
      : span_(span), owned_(std::move(owned)) {}

  span_type span_;
  managed_tensor owned_;
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/tensor.inl>
