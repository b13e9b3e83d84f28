// The inline bodies of broadcast.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdio>
#include <limits>

#include <dlbridge/broadcast.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/detail/index.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/types/small_floats.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Throws if no tensor with elements of this size can have the extents.
void require_extents(dims const& extents, std::int64_t bits = 1);

// Writes the strides of the view with these extents: 0 where the elements of the source repeat.
void write_broadcast_strides(tensor_view const& source, dims const& extents, std::int64_t* strides);

// The extents to which tensors of two shapes broadcast.
dims broadcast_pair(dims const& a, dims const& b);

template <class Tensor>
tensor_view view_in(Tensor const& tensor) {
  if constexpr (std::is_convertible_v<Tensor const&, tensor_view>) {
    return tensor;
  } else {
    return tensor.view();
  }
}

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
[[noreturn]] DLBRIDGE_COLD DLBRIDGE_NOINLINE void raise_no_number(dtype type, Number number) {
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

template <class T, class Shape>
inline broadcast_span<T, Shape>::broadcast_span(T number, dims const& extents) : number_(number) {
  detail::require_extents(extents, element_bits(dtype_of<T>()));
  std::int64_t const strides[max_rank] = {};
  assign(&number_, extents, strides);
}

template <class T, class Shape>
inline broadcast_span<T, Shape>::broadcast_span(tensor_view const& source, dims const& extents)
    : number_() {
  require_view(source, detail::required_by<tensor_span<T const>>);
  detail::require_extents(extents, element_bits(dtype_of<T>()));
  std::int64_t strides[max_rank];
  detail::write_broadcast_strides(source, extents, strides);
  assign(static_cast<T const*>(source.data()), extents, strides);
}

template <class T, class Shape>
broadcast_span<T, Shape>& broadcast_span<T, Shape>::operator=(
    broadcast_span const& other) noexcept {
  if (other.tensor_.data != &number_) {  // otherwise other repeats the number of this object
    number_ = other.number_;
  }
  copy(other);
  return *this;
}

template <class T, class Shape>
template <class... Index>
inline T const& broadcast_span<T, Shape>::operator()(Index... index) const noexcept {
  static_assert(span_type::has_static_rank, "dlbridge: indexing needs a static rank, shape<...>");
  static_assert(sizeof...(Index) == static_rank, "dlbridge: one index for each dimension");
  static_assert((detail::is_index<Index> && ...), "dlbridge: an index is an integer");
  int i = 0;
  std::int64_t offset = 0;
  ((offset += static_cast<std::int64_t>(index) * strides_[i++]), ...);
  return data()[offset];
}

template <class T, class Shape>
template <class... Index>
inline T const& broadcast_span<T, Shape>::at(Index... index) const {
  int axis = 0;
  (detail::require_index(view(), axis++, index), ...);
  return (*this)(index...);
}

template <class T, class Shape>
inline void broadcast_span<T, Shape>::assign(T const* data, dims const& extents,
                                             std::int64_t const* strides) {
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

template <class T, class Shape>
inline void broadcast_span<T, Shape>::copy(broadcast_span const& other) noexcept {
  bool const is_number = other.tensor_.data == &other.number_;
  take(other.tensor_);
  tensor_.data = is_number ? &number_ : tensor_.data;
}

template <class T, class Shape>
inline void broadcast_span<T, Shape>::take(DLTensor const& t) noexcept {
  detail::copy_extents(t.shape, t.ndim, extents_);
  detail::copy_extents(t.strides, t.ndim, strides_);
  tensor_ = t;
  tensor_.shape = extents_;
  tensor_.strides = strides_;
}

template <class T, class Shape, class Source>
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

template <class First, class... Others>
dims broadcast_extents(First const& first, Others const&... others) {
  dims extents = detail::extents_in(first);
  ((extents = detail::broadcast_pair(extents, detail::extents_in(others))), ...);
  return extents;
}

DLBRIDGE_END_NAMESPACE
