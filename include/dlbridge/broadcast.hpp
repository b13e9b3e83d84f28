// broadcast_to: views a number or a tensor of extents 1 as a tensor of given extents, by the rules
// of NumPy.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/detail/index.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/small_floats.hpp>
#include <dlbridge/validate.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
DLBRIDGE_COLD inline report broadcast_refusal(errc code, tensor_view const& view,
                                              dims const& extents) noexcept {
  report r = refusal(code, "extents that broadcast to ", name_of(view).c_str());
  append_extents(r.expected, extents.size(), extents.data());
  return r;
}

// Throws if no tensor with elements of this size can have the extents.
inline void require_extents(dims const& extents, std::int64_t bits = 1) {
  report r = check_extents(extents.size(), extents.data());
  std::int64_t count = 0;
  if (r.ok() &&
      (!try_count(extents.size(), extents.data(), count) || !try_multiply(count, bits, count))) {
    r = refusal(errc::overflow, "a size that fits 64 bits", "shape ");
    append_extents(r.got, extents.size(), extents.data());
  }
  if (!r.ok()) {
    raise(r);
  }
}

// Writes the strides of the view with these extents: 0 where the elements of the source repeat.
inline void write_broadcast_strides(tensor_view const& source, dims const& extents,
                                    std::int64_t* strides) {
  int const added = extents.size() - source.rank();
  if (added < 0) {
    raise(broadcast_refusal(errc::rank_mismatch, source, extents));
  }
  std::int64_t own[max_rank];
  source.copy_strides(own);
  for (int i = 0; i < extents.size(); ++i) {
    std::int64_t const extent = i < added ? 1 : source.extent(i - added);
    if (extent != 1 && extent != extents[i]) {
      raise(broadcast_refusal(errc::extent_mismatch, source, extents));
    }
    strides[i] = extent == 1 ? 0 : own[i - added];
  }
}

// The extents to which tensors of two shapes broadcast.
inline dims broadcast_pair(dims const& a, dims const& b) {
  dims const& longer = a.size() < b.size() ? b : a;
  dims const& shorter = a.size() < b.size() ? a : b;
  int const added = longer.size() - shorter.size();
  std::int64_t all[max_rank];
  for (int i = 0; i < longer.size(); ++i) {
    std::int64_t const other = i < added ? 1 : shorter[i - added];
    if (longer[i] != other && longer[i] != 1 && other != 1) {
      report r = refusal(errc::extent_mismatch, "extents that broadcast with ", "");
      append_extents(r.expected, a.size(), a.data());
      append_extents(r.got, b.size(), b.data());
      raise(r);
    }
    all[i] = longer[i] == 1 ? other : longer[i];
  }
  return dims::from(all, static_cast<std::size_t>(longer.size()));
}

// Whether T is a tensor_view, or an object with view(), such as a span, a tensor or an argument.
template <class T, class = void>
constexpr bool has_view = std::is_convertible_v<T, tensor_view>;
template <class T>
constexpr bool has_view<T, std::void_t<decltype(tensor_view(std::declval<T>().view()))>> = true;
template <class Tensor>
tensor_view view_in(Tensor const& tensor) {
  if constexpr (std::is_convertible_v<Tensor const&, tensor_view>) {
    return tensor;
  } else {
    return tensor.view();
  }
}

// Whether static_cast converts a number to T: no small_float has that of a long double.
template <class Number, class T, class = void>
constexpr bool is_castable = false;
template <class Number, class T>
constexpr bool
    is_castable<Number, T, std::void_t<decltype(static_cast<T>(std::declval<Number>()))>> = true;

// Whether T represents the number; a float rounds it.
template <class T, class Number>
bool has_number(Number number) noexcept {
  if constexpr (!std::is_arithmetic_v<T>) {
    return has_number<number_of<T>>(number);
  } else if constexpr (!std::is_integral_v<T>) {
    return true;
  } else if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(static_cast<T>(number)) == number &&
           (static_cast<T>(number) < T{}) == (number < Number{});
  } else {
    Number const end = std::ldexp(Number{1}, std::numeric_limits<T>::digits);  // not a number of T
    return number < end && number >= (std::is_signed_v<T> ? -end : Number{}) &&
           std::trunc(number) == number;
  }
}
template <class Number>
[[noreturn]] DLBRIDGE_COLD void raise_no_number(dtype type, Number number) {
  report r = refusal(errc::bad_argument, "a number that the dtype has: ", "");
  append_name(r.expected, type);
  if constexpr (std::is_integral_v<Number> && std::is_signed_v<Number>) {
    r.got.append(std::int64_t{number});
  } else if constexpr (std::is_integral_v<Number>) {
    r.got.append_unsigned(std::uint64_t{number});
  } else {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", static_cast<double>(number));
    r.got.append(text);
  }
  raise(r);
}

// Whether T is a list, such as a vector or a text, and no number.
template <class T, class = void>
constexpr bool is_list = std::is_array_v<T> || std::is_pointer_v<T>;
template <class T>
constexpr bool is_list<T, std::void_t<decltype(std::declval<T const&>().size())>> = true;

// The extents of a tensor, or those that the caller has already; none of a number.
template <class Operand>
dims extents_in(Operand const& operand) {
  if constexpr (std::is_same_v<Operand, dims>) {
    require_extents(operand);
    return operand;
  } else if constexpr (is_variant<Operand>) {
    return visit([](auto const& each) { return extents_in(each); }, operand);
  } else if constexpr (has_view<Operand const&>) {
    tensor_view const view = view_in(operand);
    return dims::from(view.shape(), static_cast<std::size_t>(view.rank()));
  } else {
    static_assert(!is_list<Operand>,
                  "dlbridge: broadcast_extents takes dims, numbers, tensors and variants of them");
    return dims();
  }
}
}  // namespace detail

/// A read-only view of a number, or of a tensor in host memory, that repeats its elements to reach
/// some extents: the stride of a dimension along which they repeat is 0. broadcast_to makes it.
/// Copyable. The object stores a number, and borrows the memory of a tensor.
///
/// @tparam T The element type, without const.
/// @tparam Shape shape<...> or dynamic_rank.
///
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
  using element_type = T const;
  static constexpr bool has_static_rank = span_type::has_static_rank;

  /// The requirement that every object of this type meets, that of tensor_span<T const, Shape>.
  static constexpr requirement required() noexcept { return span_type::required(); }

  /// @throws error as broadcast_to
  broadcast_span(T number, dims const& extents) : number_(number) {
    detail::require_extents(extents, element_bits(dtype_of<T>()));
    std::int64_t const strides[max_rank] = {};
    assign(&number_, extents, strides);
  }
  broadcast_span(tensor_view const& source, dims const& extents) : number_() {
    require_view(source, detail::required_by<tensor_span<T const>>);
    detail::require_extents(extents, element_bits(dtype_of<T>()));
    std::int64_t strides[max_rank];
    detail::write_broadcast_strides(source, extents, strides);
    assign(static_cast<T const*>(source.data()), extents, strides);
  }
  broadcast_span(broadcast_span const& other) noexcept : number_(other.number_) { copy(other); }
  broadcast_span& operator=(broadcast_span const& other) noexcept {
    if (other.tensor_.data != &number_) {  // otherwise other repeats the number of this object
      number_ = other.number_;
    }
    copy(other);
    return *this;
  }

  T const* data() const& noexcept DLBRIDGE_LIFETIMEBOUND {
    return static_cast<T const*>(tensor_.data);
  }
  T const* data() const&& = delete;  // of a number it dangles: keep the span in a variable
  int rank() const noexcept { return tensor_.ndim; }
  std::int64_t extent(int i) const noexcept { return extents_[i]; }
  /// The stride of dimension i, in elements.
  std::int64_t stride(int i) const noexcept { return strides_[i]; }
  /// The number of elements, each counted as often as it repeats.
  std::int64_t count() const noexcept { return count_of(rank(), extents_); }
  dlbridge::device device() const noexcept { return dlbridge::device(tensor_.device); }
  /// A read-only view for copy_of, visit or a tensor_span<T const>.
  /// @par Lifetime
  /// Valid as long as this object, whose extents and strides it refers to.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND {
    return tensor_view(tensor_, flag_read_only);
  }
  operator tensor_view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return view(); }
  tensor_view view() const&& = delete;      // dangles: keep it in a variable
  operator tensor_view() const&& = delete;  // dangles: keep it in a variable

  /// The element at the indices, one for each dimension. Requires a static rank.
  /// @pre Each index is at least 0 and below the extent; this is not checked.
  template <class... Index>
  T const& operator()(Index... index) const noexcept DLBRIDGE_LIFETIMEBOUND {
    static_assert(span_type::has_static_rank, "dlbridge: indexing needs a static rank, shape<...>");
    static_assert(sizeof...(Index) == static_rank, "dlbridge: one index for each dimension");
    static_assert((detail::is_index<Index> && ...), "dlbridge: an index is an integer");
    int i = 0;
    std::int64_t offset = 0;
    ((offset += static_cast<std::int64_t>(index) * strides_[i++]), ...);
    return data()[offset];
  }
  /// @throws std::out_of_range as tensor_span::at
  template <class... Index>
  T const& at(Index... index) const DLBRIDGE_LIFETIMEBOUND {
    int axis = 0;
    (detail::require_index(view(), axis++, index), ...);
    return (*this)(index...);
  }

 private:
  void assign(T const* data, dims const& extents, std::int64_t const* strides) {
    DLTensor all{};
    all.data = const_cast<T*>(data);
    all.device = cpu.abi();
    all.ndim = extents.size();
    all.dtype = dtype_of<T>().abi();
    all.shape = const_cast<std::int64_t*>(extents.data());
    all.strides = const_cast<std::int64_t*>(strides);
    requirement need = detail::required_by<span_type>;
    need.alignment = 1;
    require_view(tensor_view(all), need);  // of the shape: the source has been checked
    take(all);
  }
  void copy(broadcast_span const& other) noexcept {
    bool const is_number = other.tensor_.data == &other.number_;
    take(other.tensor_);
    tensor_.data = is_number ? &number_ : tensor_.data;
  }
  void take(DLTensor const& t) noexcept {
    detail::copy_extents(t.shape, t.ndim, extents_);
    detail::copy_extents(t.strides, t.ndim, strides_);
    tensor_ = t;
    tensor_.shape = extents_;
    tensor_.strides = strides_;
  }

  T number_;
  DLTensor tensor_{};
  std::int64_t extents_[capacity];
  std::int64_t strides_[capacity];
};

/// Views a number or a tensor with other extents, by the rules of NumPy: the dimensions are aligned
/// at the last one, missing ones are added in front, and an extent of 1 repeats.
///
/// @tparam T The element type.
/// @tparam Shape The shape of the view, which the extents must meet: shape<...> or dynamic_rank.
/// @param source A number that T represents, or that a floating T rounds; a tensor of dtype T in
///   host memory: a view, a span, a tensor, an argument; or a std::variant of such. The memory is
///   borrowed.
/// @param extents The extents, as {rows, columns}.
/// @return The view, which is read-only.
/// @throws error rank_mismatch or extent_mismatch (the source does not broadcast to the extents, or
///   these do not meet Shape), dtype_mismatch, device_mismatch or misaligned (the source),
///   overflow (a size in bits above 64 bits), bad_argument (a negative extent, more than 64 of
///   them, or a number that an integer T does not represent), null_data (an empty owner).
template <class T, class Shape = dynamic_rank, class Source>
broadcast_span<T, Shape> broadcast_to(Source&& source, dims const& extents) {
  using type = std::remove_cv_t<std::remove_reference_t<Source>>;
  if constexpr (detail::is_variant<type>) {
    return visit(
        [&](auto&& each) {
          return broadcast_to<T, Shape>(std::forward<decltype(each)>(each), extents);
        },
        std::forward<Source>(source));
  } else if constexpr (detail::has_view<type const&>) {
    static_assert(detail::has_view<Source>,
                  "dlbridge: the view of a temporary tensor would dangle. Keep the tensor in a "
                  "variable");
    return broadcast_span<T, Shape>(detail::view_in(source), extents);
  } else {
    constexpr bool is_number = std::is_arithmetic_v<type> && !std::is_same_v<type, T>;
    static_assert(!is_number || detail::takes_numbers<T>,
                  "dlbridge: a number becomes an element of this type by a constructor from float, "
                  "from double for a dtype of 64 bits, or from the integer of its dtype. Add it");
    constexpr bool is_own =
        (is_number && detail::takes_numbers<T> && detail::is_castable<type, T>) ||
        std::is_same_v<type, T>;
    // Of at most 16 bits: a float would round the number of a larger type.
    constexpr bool is_small_float = !is_own && std::is_convertible_v<type, float> &&
                                    sizeof(type) <= 2 && !std::is_empty_v<type>;
    static_assert(is_own || is_small_float || (is_number && !detail::takes_numbers<T>),
                  "dlbridge: broadcast_to takes numbers, tensors and variants of them");
    if constexpr (is_small_float) {
      return broadcast_to<T, Shape>(static_cast<float>(source), extents);
    } else if constexpr (is_own) {
      if constexpr (std::is_same_v<type, T>) {
        return broadcast_span<T, Shape>(source, extents);
      } else {
        if (!detail::has_number<T>(source)) {
          detail::raise_no_number(dtype_of<T>(), source);
        }
        return broadcast_span<T, Shape>(detail::converted_number<T>(source), extents);
      }
    }
  }
}
/// The same with the extents of a tensor: broadcast_to<float, matrix>(y, x).
/// @param like A view, a span, a tensor or an argument of any dtype, on any device.
template <class T, class Shape = dynamic_rank, class Source, class Like,
          class = std::enable_if_t<detail::has_view<Like const&>>>
broadcast_span<T, Shape> broadcast_to(Source&& source, Like const& like) {
  return broadcast_to<T, Shape>(std::forward<Source>(source), detail::extents_in(like));
}

/// The extents to which several operands broadcast, such as those of a result.
/// @param first A number, a tensor, or a variant of them, as broadcast_to takes, or the extents of
///   other operands.
/// @param others More of them.
/// @throws error extent_mismatch, bad_argument or overflow (extents that no tensor has), null_data
///   (an empty owner).
template <class First, class... Others>
dims broadcast_extents(First const& first, Others const&... others) {
  dims extents = detail::extents_in(first);
  ((extents = detail::broadcast_pair(extents, detail::extents_in(others))), ...);
  return extents;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
