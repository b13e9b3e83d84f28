// as<T> and as_span<T>: convert a view, without a copy, to a std::span, to an mdspan of std, Kokkos
// or cuda::std, or to any other type with view_traits.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

#include <dlbridge/abi.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
// Whether the constructor of a mapping accepts strides, as that of layout_stride does.
template <class Mapping, class = void>
struct takes_strides : std::false_type {};
template <class Mapping>
struct takes_strides<Mapping, std::void_t<std::enable_if_t<std::is_constructible_v<
                                  Mapping, typename Mapping::extents_type,
                                  decltype(std::declval<Mapping const&>().strides())>>>>
    : std::true_type {};

// The alignment that an accessor requires of the first element, such as std::aligned_accessor; 1
// without a requirement.
template <class T, class = void>
constexpr std::size_t accessor_alignment = 1;
template <class T>
constexpr std::size_t
    accessor_alignment<T, std::void_t<decltype(T::accessor_type::byte_alignment)>> =
        T::accessor_type::byte_alignment;

template <class T, class = void>
struct is_mdspan : std::false_type {};
template <class T>
struct is_mdspan<T, std::void_t<typename T::extents_type, typename T::mapping_type>>
    : std::true_type {};

// Writes strides that meet the preconditions of layout_stride ([mdspan.layout.stride.cons]): each
// is above 0 and at least the span of the faster dimensions. Replaces strides without a meaning: by
// 1 in a dimension of extent 1, by row-major strides in an empty tensor. Returns false if the view
// has no such strides.
inline bool nesting_strides(tensor_view const& view, std::int64_t* out) noexcept {
  bool const empty = view.empty();
  std::uint64_t step = 1;
  view.copy_strides(out);
  for (int i = view.rank(); i-- > 0;) {
    if (view.extent(i) <= 1) {
      out[i] = 1;
    } else if (empty) {
      out[i] = static_cast<std::int64_t>(step);
      step *= static_cast<std::uint64_t>(view.extent(i));
    }
  }
  int order[max_rank];
  int const dimensions = sort_by_step(view.rank(), view.shape(), out, order);  // -1 if empty
  std::uint64_t inside = 1;
  for (int i = 0; i < dimensions; ++i) {
    std::int64_t const stride = out[order[i]];
    if (stride < 0 || static_cast<std::uint64_t>(stride) < inside) {
      return false;
    }
    inside = static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(view.extent(order[i]));
  }
  return true;
}

// The static extent i of a type, or dynamic_extent.
template <class Extents>
constexpr std::int64_t fixed_extent(std::size_t i) noexcept {
  std::size_t const fixed = Extents::static_extent(i);
  return fixed == static_cast<std::size_t>(-1) ? dynamic_extent : static_cast<std::int64_t>(fixed);
}

// The requirement of a view whose elements have type T and which the CPU accesses.
template <class T>
requirement requirement_of(std::int32_t rank, std::int64_t const* extents) noexcept {
  requirement need;
  need.type = dtype_of<T>();
  need.rank = rank;
  need.extents = extents;
  need.writable = !std::is_const_v<T>;
  need.alignment = alignof(T);
  return need;
}

// The address of the first element. The caller has checked that the elements are of type T.
template <class T>
T* elements_of(tensor_view const& view) noexcept {
  return static_cast<T*>(const_cast<void*>(view.data()));
}

// Adds layout_mismatch to a report, with the expected layout and the strides of the view.
DLBRIDGE_COLD inline void break_layout(report& r, tensor_view const& view,
                                       char const* expected) noexcept {
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  r.advice = r.ok() ? other_layout_advice : r.advice;
  r.add(errc::layout_mismatch);
  r.expected.append(expected);
  r.got.append(" with strides ");
  append_extents(r.got, view.rank(), strides);
}

[[noreturn]] DLBRIDGE_COLD inline void raise_layout(tensor_view const& view,
                                                    requirement const& need, char const* expected) {
  report r = explain_mismatch(view, need);
  break_layout(r, view, expected);
  raise(r);
}

[[noreturn]] DLBRIDGE_COLD inline void raise_index_overflow(tensor_view const& view,
                                                            std::size_t bytes) {
  report r = refusal(errc::overflow, "a tensor whose indices fit ", name_of(view).c_str(),
                     "Use a view type with a wider index");
  r.expected.append_unsigned(bytes * 8).append(" bits");
  raise(r);
}

// Whether the index type can represent the number of elements, the span from the first to one past
// the highest element ([mdspan.layout]), and as much below the first one. An extent of 0 counts as
// 1, because the strides of the other dimensions must fit too.
template <class Index>
bool fits_index(tensor_view const& view) noexcept {
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<Index>::max)());
  std::int64_t size = 1;
  bool fits = true;
  for (int i = 0; i < view.rank(); ++i) {
    fits = fits && try_multiply(size, view.extent(i) > 0 ? view.extent(i) : 1, size);
  }
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  return fits && static_cast<std::uint64_t>(size) <= most &&
         try_reach(view.rank(), view.shape(), view.strides(), lowest, highest) &&
         static_cast<std::uint64_t>(highest) < most && static_cast<std::uint64_t>(-lowest) < most;
}
template <class Index>
void require_index_type(tensor_view const& view) {
  if (!fits_index<Index>(view)) {
    raise_index_overflow(view, sizeof(Index));
  }
}

// Whether the padding of a mapping is known at run time only, as that of layout_right_padded<> and
// layout_left_padded<> of C++26.
template <class Mapping, class = void>
constexpr bool has_free_padding = false;
template <class Mapping>
constexpr bool has_free_padding<Mapping, std::void_t<decltype(Mapping::padding_value)>> =
    Mapping::padding_value == static_cast<std::size_t>(-1);

// Whether the index type can represent the strides of a mapping that pads rows, or columns, to a
// stride.
template <class Index>
bool fits_padding(tensor_view const& view, std::int64_t stride) noexcept {
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<Index>::max)());
  std::int64_t without_first = stride;
  std::int64_t without_last = stride;
  bool fits = stride > 0;
  for (int i = 0; i < view.rank(); ++i) {
    std::int64_t const extent = view.extent(i) > 0 ? view.extent(i) : 1;
    fits = fits && (i == 0 || try_multiply(without_first, extent, without_first)) &&
           (i == view.rank() - 1 || try_multiply(without_last, extent, without_last));
  }
  return fits && static_cast<std::uint64_t>(without_first) <= most &&
         static_cast<std::uint64_t>(without_last) <= most;
}

// Whether a mapping has the strides of a view, where these have a meaning.
template <class Mapping, std::size_t... Is>
bool has_strides_of(Mapping const& mapping, tensor_view const& view, std::index_sequence<Is...>) {
  bool const empty = view.empty();
  return ((empty || view.extent(static_cast<int>(Is)) == 1 ||
           static_cast<std::int64_t>(mapping.stride(Is)) == view.stride(static_cast<int>(Is))) &&
          ...);
}

template <class Mdspan, std::size_t... Is>
Mdspan as_mdspan(tensor_view const& view, std::index_sequence<Is...>) {
  using extents_type = typename Mdspan::extents_type;
  using index = typename Mdspan::index_type;
  using mapping = typename Mdspan::mapping_type;
  std::int64_t const extents[sizeof...(Is) + 1] = {fixed_extent<extents_type>(Is)...,
                                                   dynamic_extent};
  auto need = requirement_of<typename Mdspan::element_type>(sizeof...(Is), extents);
  constexpr std::size_t of_accessor = accessor_alignment<Mdspan>;
  need.alignment = of_accessor > need.alignment ? of_accessor : need.alignment;
  require_view(view, need);
  require_index_type<index>(view);
  extents_type const sizes(static_cast<index>(view.extent(static_cast<int>(Is)))...);
  auto const data = static_cast<typename Mdspan::data_handle_type>(
      elements_of<typename Mdspan::element_type>(view));
  if constexpr (takes_strides<mapping>::value) {
    std::int64_t strides[max_rank];
    if (!nesting_strides(view, strides)) {
      raise_layout(view, need,
                   ", strides above 0, each at least the span of the dimensions that vary faster");
    }
    decltype(std::declval<mapping const&>().strides())
        const steps{static_cast<index>(strides[Is])...};
    return Mdspan(data, mapping(sizes, steps));
  } else {
    mapping const implied(sizes);
    if (has_strides_of(implied, view, std::index_sequence<Is...>{})) {
      return Mdspan(data, implied);
    }
    if constexpr (has_free_padding<mapping> && sizeof...(Is) > 1) {
      // The padded stride is that of the second dimension, or of the last but one.
      for (int const i : {1, static_cast<int>(sizeof...(Is)) - 2}) {
        if (fits_padding<index>(view, view.stride(i))) {
          mapping const padded(sizes, static_cast<index>(view.stride(i)));
          if (has_strides_of(padded, view, std::index_sequence<Is...>{})) {
            return Mdspan(data, padded);
          }
        }
      }
    }
    raise_layout(view, need, ", in the layout of the mdspan");
  }
}
}  // namespace detail

/// Defines how as<T> creates a T. The primary template supports every mdspan type. Specialise it
/// for your own view type:
///
/// @code
/// template <> struct dlbridge::view_traits<my_view> {
///   static my_view view(tensor_view const& of);  // throws if the tensor is not suitable
/// };
/// @endcode
template <class T>
struct view_traits {
  static_assert(detail::is_mdspan<T>::value,
                "dlbridge: as<T> has no view_traits for this type. Specialise "
                "dlbridge::view_traits<T>, or include the header of <dlbridge/bridges/> that "
                "defines it. A container owns its memory and cannot be a view");
  static T view(tensor_view const& of) {
    return detail::as_mdspan<T>(of, std::make_index_sequence<T::extents_type::rank()>{});
  }
};

/// Converts a view to another view type, without a copy.
///
/// @tparam T An mdspan of std, Kokkos or cuda::std, or a type with view_traits.
/// @param view The view, of memory that the CPU can access.
/// @return The result of view_traits<T>::view, on the same elements: a T, or the type that a
///   specialization returns instead.
/// @throws error dtype_mismatch, rank_mismatch, extent_mismatch, device_mismatch (the CPU cannot
///   access the memory), read_only (the elements of T are not const) or misaligned, with all of
///   them in one message; then overflow (the index type of T is too narrow), or layout_mismatch
///   (the strides do not match the layout of T; for layout_stride they are not positive, or
///   interleave).
///
/// @par Lifetime
/// The result is valid as long as the tensor of the view.
template <class T>
auto as(tensor_view const& view) {
  return view_traits<T>::view(view);
}

#if defined(__cpp_lib_span)
/// Converts a view of a row-major tensor of any rank to a std::span of all its elements, without a
/// copy. Available where the standard library has std::span.
///
/// @tparam T The element type. T const accepts read-only memory.
/// @param view The view, of memory that the CPU can access.
/// @return A span of view.count() elements, in row-major order.
/// @throws error dtype_mismatch, device_mismatch, layout_mismatch, read_only or misaligned, with
///   all of them in one message.
///
/// @par Lifetime
/// The span is valid as long as the tensor of the view.
template <class T>
std::span<T> as_span(tensor_view const& view) {
  requirement need = detail::requirement_of<T>(requirement::any_rank, nullptr);
  need.order = layout::row_major;
  require_view(view, need);
  return {detail::elements_of<T>(view), static_cast<std::size_t>(view.count())};
}
template <class T>
void as_span(managed_tensor const&&) = delete;  // dangles: keep it in a variable
#else
template <class T>
void as_span(tensor_view const&) {
  static_assert(sizeof(T) == 0, "dlbridge: as_span requires std::span, which C++20 has");
}
#endif

// A view of a temporary owner would dangle.
template <class T>
T as(managed_tensor const&&) = delete;  // dangles: keep it in a variable

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
