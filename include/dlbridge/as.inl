// The inline bodies of as.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>

#include <dlbridge/as.hpp>
#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Writes strides that meet the preconditions of layout_stride ([mdspan.layout.stride.cons]): each
// is above 0 and at least the span of the faster dimensions. Replaces strides without a meaning: by
// 1 in a dimension of extent 1, by row-major strides in an empty tensor. Returns false if the view
// has no such strides.
bool nesting_strides(tensor_view const& view, std::int64_t* out) noexcept;

[[noreturn]] DLBRIDGE_COLD void raise_index_overflow(tensor_view const& view, std::size_t bytes);

// Whether the constructor of a mapping accepts strides, as that of layout_stride does, and after
// them the offset of the first element, as that of layout_stride_relaxed of CCCL does.
template <class Mapping, class... Offset>
auto is_strided(int)
    -> std::is_constructible<Mapping, typename Mapping::extents_type,
                             decltype(std::declval<Mapping const&>().strides()), Offset...>;
template <class Mapping, class... Offset>
std::false_type is_strided(...);

// Whether several indices may lead to one element.
template <class Mapping, class = void>
constexpr bool may_alias = false;
template <class Mapping>
constexpr bool may_alias<Mapping, std::void_t<decltype(Mapping::is_always_unique())>> =
    !Mapping::is_always_unique();

// The alignment that an accessor requires of the first element, such as std::aligned_accessor; 1
// without a requirement.
template <class T, class = void>
constexpr std::size_t accessor_alignment = 1;
template <class T>
constexpr std::size_t
    accessor_alignment<T, std::void_t<decltype(T::accessor_type::byte_alignment)>> =
        T::accessor_type::byte_alignment;

// Whether the padding of a mapping is known at run time only, as that of layout_right_padded<> and
// layout_left_padded<> of C++26.
template <class Mapping, class = void>
constexpr bool has_free_padding = false;
template <class Mapping>
constexpr bool has_free_padding<Mapping, std::void_t<decltype(Mapping::padding_value)>> =
    Mapping::padding_value == static_cast<std::size_t>(-1);

// The static extent i of a type, or dynamic_extent.
template <class Extents>
constexpr std::int64_t fixed_extent(std::size_t i) noexcept {
  std::size_t const fixed = Extents::static_extent(i);
  return fixed == static_cast<std::size_t>(-1) ? dynamic_extent : static_cast<std::int64_t>(fixed);
}

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

// The type of the strides of a mapping; a mapping of rank 0 may have none.
template <class Mapping, class = void>
struct step_of {
  using type = typename Mapping::extents_type::index_type;
};
template <class Mapping>
struct step_of<Mapping, std::void_t<decltype(std::declval<Mapping const&>().stride(0))>> {
  using type = std::decay_t<decltype(std::declval<Mapping const&>().stride(0))>;
};

// Whether a type of strides states no other stride i, as cuda::strides may.
template <class Steps>
auto accepts_stride(std::size_t i, std::int64_t stride, int) noexcept
    -> decltype(Steps::static_stride(i) == stride) {
  constexpr auto none = (std::numeric_limits<decltype(Steps::static_stride(i))>::min)();
  return Steps::static_stride(i) == stride || Steps::static_stride(i) == none;
}
template <class>
bool accepts_stride(std::size_t, std::int64_t, ...) noexcept {
  return true;
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
  using handle = typename Mdspan::data_handle_type;
  auto* const first = elements_of<typename Mdspan::element_type>(view);
  auto const data = static_cast<handle>(first);
  constexpr bool has_offset = decltype(is_strided<mapping, std::ptrdiff_t>(0))::value;
  if constexpr (has_offset || decltype(is_strided<mapping>(0))::value) {
    std::int64_t strides[max_rank];
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
    bool const is_nested = nesting_strides(view, strides);
    try_reach(view.rank(), view.shape(), strides, lowest, highest);
    if (!is_nested && (!may_alias<mapping> || (lowest < 0 && !has_offset))) {
      raise_layout(
          view, need,
          may_alias<mapping>
              ? ", strides of 0 and above"
              : ", strides above 0, each at least the span of the dimensions that vary faster");
    }
    using steps_type = std::decay_t<decltype(std::declval<mapping const&>().strides())>;
    if (!(accepts_stride<steps_type>(Is, strides[Is], 0) && ...)) {
      raise_layout(view, need, ", in the layout of the mdspan");
    }
    steps_type const steps{static_cast<typename step_of<mapping>::type>(strides[Is])...};
    if constexpr (has_offset) {  // from the lowest element to the first
      constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<index>::max)());
      if (static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest) >= most) {
        raise_index_overflow(view, sizeof(index));
      }
      return Mdspan(static_cast<handle>(first + lowest),
                    mapping(sizes, steps, static_cast<std::ptrdiff_t>(-lowest)));
    } else {
      return Mdspan(data, mapping(sizes, steps));
    }
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

#if defined(__cpp_lib_span)
template <class T>
std::span<T> as_span(tensor_view const& view) {
  requirement need = detail::requirement_of<T>(requirement::any_rank, nullptr);
  need.order = layout::row_major;
  require_view(view, need);
  return {detail::elements_of<T>(view), static_cast<std::size_t>(view.count())};
}

template <class T, std::size_t Extent>
std::span<T, Extent> view_traits<std::span<T, Extent>>::view(tensor_view const& of) {
  std::int64_t const extent =
      Extent == std::dynamic_extent ? dynamic_extent : static_cast<std::int64_t>(Extent);
  requirement need = detail::requirement_of<T>(1, &extent);
  need.order = layout::row_major;
  require_view(of, need);
  return std::span<T, Extent>(detail::elements_of<T>(of), static_cast<std::size_t>(of.count()));
}
#endif

DLBRIDGE_END_NAMESPACE
