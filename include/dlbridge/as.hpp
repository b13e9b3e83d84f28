// as<T>(view) and as_span<T>(view): checked typed views without a copy; T is an mdspan of std,
// Kokkos or cuda::std, of which it includes none, or any type with view_traits.
// layer: arrays · IN: from a view to the caller's own view type
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
#include <dlbridge/managed.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
// A mapping that takes strides (layout_stride and its kin), against one that implies them.
template <class Mapping, class = void>
struct takes_strides : std::false_type {};
template <class Mapping>
struct takes_strides<Mapping, std::void_t<std::enable_if_t<std::is_constructible_v<
                                  Mapping, typename Mapping::extents_type,
                                  decltype(std::declval<Mapping const&>().strides())>>>>
    : std::true_type {};

template <class T, class = void>
struct is_mdspan : std::false_type {};
template <class T>
struct is_mdspan<T, std::void_t<typename T::extents_type, typename T::mapping_type>>
    : std::true_type {};

// The strides as layout_stride wants them: above zero, and each past all that the faster dimensions
// span ([mdspan.layout.stride.cons]). Where a dimension has no second element its stride means
// nothing and 1 will do; an empty tensor steps as if it were compact.
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
  int const dimensions = sort_by_step(view.rank(), view.shape(), out, order);  // none when empty
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

// An extent that a type fixes, or any.
template <class Extents>
constexpr std::int64_t fixed_extent(std::size_t i) noexcept {
  std::size_t const fixed = Extents::static_extent(i);
  return fixed == static_cast<std::size_t>(-1) ? dynamic_extent : static_cast<std::int64_t>(fixed);
}

// What a view of elements of type T asks of memory that the CPU reads.
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

// The address of the first element for a view that was checked to be of T.
template <class T>
T* elements_of(tensor_view const& view) noexcept {
  return static_cast<T*>(const_cast<void*>(view.data()));
}

// Adds to a report that the strides are not what a type needs.
DLBRIDGE_COLD inline void break_layout(report& r, tensor_view const& view,
                                       char const* expected) noexcept {
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  r.breaks(errc::layout_mismatch);
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

// The number of elements, and the span from the first to behind the highest, must fit the index
// type
// ([mdspan.layout]). An empty dimension counts as one element, since the others still have strides.
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
         static_cast<std::uint64_t>(highest) < most;
}

template <class Mdspan, std::size_t... I>
Mdspan as_mdspan(tensor_view const& view, std::index_sequence<I...>) {
  using extents_type = typename Mdspan::extents_type;
  using index = typename Mdspan::index_type;
  using mapping = typename Mdspan::mapping_type;
  std::int64_t const extents[sizeof...(I) + 1] = {fixed_extent<extents_type>(I)..., dynamic_extent};
  auto const need = requirement_of<typename Mdspan::element_type>(sizeof...(I), extents);
  require_view(view, need);
  if (!fits_index<index>(view)) {
    raise_index_overflow(view, sizeof(index));
  }
  extents_type const sizes(static_cast<index>(view.extent(static_cast<int>(I)))...);
  auto const data = static_cast<typename Mdspan::data_handle_type>(
      elements_of<typename Mdspan::element_type>(view));
  if constexpr (takes_strides<mapping>::value) {
    std::int64_t strides[max_rank];
    if (!nesting_strides(view, strides)) {
      raise_layout(view, need, ", strides above 0 that nest");
    }
    decltype(std::declval<mapping const&>().strides())
        const steps{static_cast<index>(strides[I])...};
    return Mdspan(data, mapping(sizes, steps));
  } else {
    mapping const implied(sizes);
    bool const empty = view.empty();
    bool const same =
        ((empty || view.extent(static_cast<int>(I)) == 1 ||
          static_cast<std::int64_t>(implied.stride(I)) == view.stride(static_cast<int>(I))) &&
         ...);
    if (!same) {
      raise_layout(view, need, ", in the layout of the mdspan");
    }
    return Mdspan(data, implied);
  }
}
}  // namespace detail

/// How as<T> makes a T. An mdspan needs no more than this; specialise it for a view type of yours:
///
///   template <> struct dlbridge::view_traits<my_view> {
///     static my_view view(tensor_view const& of);   // checks what my_view needs, or throws
///   };
template <class T>
struct view_traits {
  static_assert(detail::is_mdspan<T>::value,
                "dlbridge: as<T> makes views, and this type is none that it knows. Specialise "
                "dlbridge::view_traits<T>, or include the header of <dlbridge/bridges/> that has "
                "it; a container cannot look at the memory of others");
  static T view(tensor_view const& of) {
    return detail::as_mdspan<T>(of, std::make_index_sequence<T::extents_type::rank()>{});
  }
};

/// The same elements as an mdspan type T, of std, Kokkos or cuda::std, or as any type T with
/// view_traits, which may give a type of its own for a T const; no copy.
/// lives: as long as the tensor behind the view.
/// fails: dtype_mismatch, rank_mismatch, extent_mismatch, device_mismatch (the CPU must be able to
/// read it), read_only (T of non-const elements), misaligned, all in one message; then overflow
/// (T's index type is too narrow), layout_mismatch (for layout_stride also strides that are not
/// positive or that interleave).
template <class T>
auto as(tensor_view const& view) {
  return view_traits<T>::view(view);
}

#if defined(__cpp_lib_span)
/// All elements of a row-major tensor of any rank, in order; no copy. Only where <span> is.
/// lives, fails: as for as<Mdspan>.
template <class T>
std::span<T> as_span(tensor_view const& view) {
  requirement need;
  need.type = dtype_of<T>();
  need.order = layout::row_major;
  need.writable = !std::is_const_v<T>;
  need.alignment = alignof(T);
  require_view(view, need);
  return {detail::elements_of<T>(view), static_cast<std::size_t>(view.count())};
}
#endif

// A typed view of a temporary owner would dangle at once.
template <class T>
void as(managed_tensor const&&) = delete;
template <class T>
void as_span(managed_tensor const&&) = delete;

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
