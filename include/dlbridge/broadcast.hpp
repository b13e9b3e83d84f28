// broadcast_to: views a number or a tensor of extents 1 as a tensor of given extents, by the rules
// of NumPy.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Whether T is a tensor_view, or an object with view(), such as a span, a tensor or an argument.
template <class T, class = void>
constexpr bool has_view = std::is_convertible_v<T, tensor_view>;
template <class T>
constexpr bool has_view<T, std::void_t<decltype(tensor_view(std::declval<T>().view()))>> = true;

// Whether static_cast converts a number to T: no small_float has that of a long double.
template <class Number, class T, class = void>
constexpr bool is_castable = false;
template <class Number, class T>
constexpr bool
    is_castable<Number, T, std::void_t<decltype(static_cast<T>(std::declval<Number>()))>> = true;

// Whether T is a list, such as a vector or a text, and no number.
template <class T, class = void>
constexpr bool is_list = std::is_array_v<T> || std::is_pointer_v<T>;
template <class T>
constexpr bool is_list<T, std::void_t<decltype(std::declval<T const&>().size())>> = true;

// The extents of a tensor, or those that the caller has already; none of a number.
template <class Operand>
dims extents_in(Operand const& operand);
}  // namespace detail

/// A read-only view of a number, or of a tensor in host memory, that repeats its elements to reach
/// some extents: the stride of a dimension along which they repeat is 0. broadcast_to makes it.
/// Copyable. The object stores a number, and borrows the memory of a tensor.
/// @tparam T The element type, without const.
/// @tparam Shape shape<...> or dynamic_rank.
/// @par Lifetime
/// That of a tensor is valid as long as the tensor.
template <class T, class Shape = dynamic_rank>
class broadcast_span {
  static_assert(!std::is_const_v<T>, "dlbridge: write a broadcast_span without const");
  using span_type = tensor_span<T const, Shape>;
  static constexpr int static_rank = detail::shape_facts<Shape>::rank;
  static constexpr std::size_t capacity = span_type::has_static_rank && static_rank > 0
                                              ? static_cast<std::size_t>(static_rank)
                                          : span_type::has_static_rank ? 1
                                                                       : max_rank;

 public:
  using element_type = T const;                                        ///< The type of an element.
  static constexpr bool has_static_rank = span_type::has_static_rank;  ///< Of Shape.

  /// The requirement that every object of this type meets, that of tensor_span<T const, Shape>.
  static constexpr requirement required() noexcept { return span_type::required(); }

  /// Views a number, or a tensor, as a tensor of the extents.
  /// @throws error as broadcast_to
  broadcast_span(T number, dims const& extents);
  broadcast_span(tensor_view const& source, dims const& extents);  ///< The same of a tensor.
  /// Copies the number, or the view of the tensor.
  broadcast_span(broadcast_span const& other) noexcept : number_(other.number_) { copy(other); }
  broadcast_span& operator=(broadcast_span const& other) noexcept;  ///< As the copy constructor.

  /// The address of the first element.
  T const* data() const& noexcept DLBRIDGE_LIFETIMEBOUND {
    return static_cast<T const*>(tensor_.data);
  }
  T const* data() const&& = delete;  ///< of a number it dangles: keep the span in a variable
  int rank() const noexcept { return tensor_.ndim; }                 ///< The number of dimensions.
  std::int64_t extent(int i) const noexcept { return extents_[i]; }  ///< The i-th extent.
  /// The stride of dimension i, in elements.
  std::int64_t stride(int i) const noexcept { return strides_[i]; }
  /// The number of elements, each counted as often as it repeats.
  std::int64_t count() const noexcept { return count_of(rank(), extents_); }
  /// The device.
  dlbridge::device device() const noexcept { return dlbridge::device(tensor_.device); }
  /// A read-only view for copy_of, visit or a tensor_span<T const>.
  /// @par Lifetime
  /// Valid as long as this object, whose extents and strides it refers to.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND {
    return tensor_view(tensor_, flag_read_only);
  }
  operator tensor_view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return view(); }  ///< As view().
  tensor_view view() const&& = delete;      ///< dangles: keep it in a variable
  operator tensor_view() const&& = delete;  ///< dangles: keep it in a variable

  /// The element at the indices, one for each dimension. Requires a static rank.
  /// @pre Each index is at least 0 and below the extent; this is not checked.
  template <class... Index>
  T const& operator()(Index... index) const noexcept DLBRIDGE_LIFETIMEBOUND;
  /// x[i] is x(i), of rank 1.
  template <class Index>
  T const& operator[](Index index) const noexcept DLBRIDGE_LIFETIMEBOUND {
    return (*this)(index);
  }
  /// The element at the indices, which are checked. @throws std::out_of_range as tensor_span::at
  template <class... Index>
  T const& at(Index... index) const DLBRIDGE_LIFETIMEBOUND;

 private:
  void assign(T const* data, dims const& extents, std::int64_t const* strides);
  void copy(broadcast_span const& other) noexcept;
  void take(DLTensor const& t) noexcept;

  T number_;
  DLTensor tensor_{};
  std::int64_t extents_[capacity];
  std::int64_t strides_[capacity];
};

/// Views a number or a tensor with other extents, by the rules of NumPy: the dimensions are aligned
/// at the last one, missing ones are added in front, and an extent of 1 repeats.
/// @tparam T The element type.
/// @tparam Shape The shape of the view, which the extents must meet: shape<...> or dynamic_rank.
/// @param source A number that T represents, or that a floating T rounds; a tensor of dtype T in
///   host memory, which is borrowed: a view, a span, a tensor, an argument; or a std::variant.
/// @param extents The extents, as {rows, columns}.
/// @return The view, which is read-only.
/// @throws error rank_mismatch or extent_mismatch (the source does not broadcast to the extents, or
///   these do not meet Shape), dtype_mismatch, device_mismatch or misaligned (the source),
///   overflow (a size in bits above 64 bits), bad_argument (a negative extent, more than 64 of
///   them, or a number that an integer T does not represent), null_data (an empty owner).
template <class T, class Shape = dynamic_rank, class Source>
broadcast_span<T, Shape> broadcast_to(Source&& source, dims const& extents);
/// Views a number or a tensor with the extents of a tensor: broadcast_to<float, matrix>(y, x).
/// @param source As for extents that are a list.
/// @param like A view, a span, a tensor or an argument of any dtype, on any device.
template <class T, class Shape = dynamic_rank, class Source, class Like,
          class = std::enable_if_t<detail::has_view<Like const&>>>
broadcast_span<T, Shape> broadcast_to(Source&& source, Like const& like) {
  return broadcast_to<T, Shape>(std::forward<Source>(source), detail::extents_in(like));
}

/// The extents to which several operands broadcast, such as those of a result.
/// @param first A number, a tensor, or a variant of them, as broadcast_to takes, or extents.
/// @param others More of them.
/// @throws error extent_mismatch, bad_argument or overflow (extents that no tensor has), null_data
///   (an empty owner).
template <class First, class... Others>
dims broadcast_extents(First const& first, Others const&... others);

DLBRIDGE_END_NAMESPACE

#include <dlbridge/broadcast.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/broadcast.ipp>
#endif
