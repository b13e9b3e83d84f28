// as<T> and as_span<T>: convert a view, without a copy, to a std::span, to an mdspan of std, Kokkos
// or cuda::std, or to any other type with view_traits.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
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
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class T, class = void>
struct is_mdspan : std::false_type {};
template <class T>
struct is_mdspan<T, std::void_t<typename T::extents_type, typename T::mapping_type>>
    : std::true_type {};

// The requirement of a view whose elements have type T and which the CPU accesses.
template <class T>
requirement requirement_of(std::int32_t rank, std::int64_t const* extents) noexcept;

// The address of the first element. The caller has checked that the elements are of type T.
template <class T>
T* elements_of(tensor_view const& view) noexcept {
  return static_cast<T*>(const_cast<void*>(view.data()));
}

// Adds layout_mismatch to a report, with the expected layout and the strides of the view.
DLBRIDGE_COLD void break_layout(report& r, tensor_view const& view, char const* expected) noexcept;

[[noreturn]] DLBRIDGE_COLD void raise_layout(tensor_view const& view, requirement const& need,
                                             char const* expected);

template <class Index>
void require_index_type(tensor_view const& view);

template <class Mdspan, std::size_t... Is>
Mdspan as_mdspan(tensor_view const& view, std::index_sequence<Is...>);
}  // namespace detail

/// Defines how as<T> creates a view of type T. The primary template supports every mdspan type.
/// Specialise it for your own view type:
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
  /// The T on the elements of a tensor, as as<T> returns it.
  static T view(tensor_view const& of) {
    return detail::as_mdspan<T>(of, std::make_index_sequence<T::extents_type::rank()>{});
  }
};

/// Converts a view to another view type, without a copy.
/// @tparam T An mdspan of std, Kokkos or cuda::std, a std::span of a row-major tensor of rank 1, or
///   a type with view_traits.
/// @param view The view, of memory that the CPU can access.
/// @return The result of view_traits<T>::view, on the same elements: a T, or the type that a
///   specialization returns instead.
/// @throws error dtype_mismatch, rank_mismatch, extent_mismatch, device_mismatch (the CPU cannot
///   access the memory), read_only (the elements of T are not const) or misaligned, with all of
///   them in one message; then overflow (the index type of T is too narrow), or layout_mismatch
///   (the strides do not match the layout of T; for layout_stride they are not positive, or
///   interleave). A layout whose is_always_unique() is false, such as layout_stride_relaxed of
///   CCCL, takes strides of 0, and negative ones if it has an offset.
/// @par Lifetime
/// The result is valid as long as the tensor of the view.
template <class T>
auto as(tensor_view const& view) {
  return view_traits<T>::view(view);
}
template <class T>
T as(managed_tensor const&&) = delete;  ///< dangles: keep it in a variable

#if defined(__cpp_lib_span)
/// Converts a view of a row-major tensor of any rank to a std::span of all its elements, without a
/// copy. Available where the standard library has std::span.
/// @tparam T The element type. T const accepts read-only memory.
/// @param view The view, of memory that the CPU can access.
/// @return A span of view.count() elements, in row-major order.
/// @throws error dtype_mismatch, device_mismatch, layout_mismatch, read_only or misaligned, with
///   all of them in one message.
/// @par Lifetime
/// The span is valid as long as the tensor of the view.
template <class T>
std::span<T> as_span(tensor_view const& view);
template <class T>
void as_span(managed_tensor const&&) = delete;  ///< dangles: keep it in a variable
/// as<std::span<T>>(view) returns a span of a row-major tensor of rank 1.
template <class T, std::size_t Extent>
struct view_traits<std::span<T, Extent>> {
  static std::span<T, Extent> view(tensor_view const& of);  ///< As as<T>.
};
#else
/// Does not compile: this standard library has no std::span.
template <class T>
void as_span(tensor_view const&) {
  static_assert(sizeof(T) == 0, "dlbridge: as_span requires std::span, which C++20 has");
}
#endif

DLBRIDGE_END_NAMESPACE

#include <dlbridge/as.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/as.ipp>
#endif
