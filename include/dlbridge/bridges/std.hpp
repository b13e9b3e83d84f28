// array_traits for the standard library: export std::vector, std::array, std::shared_ptr, through
// with_shape smart pointers to T[], and through borrow memory that the caller keeps valid.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlbridge/array_traits.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// The scalar type inside nested std::array and C arrays, and their extents, outermost first.
template <class T>
struct nested {
  using scalar = T;
  template <class... Outer>
  static dims shape(Outer... outer) noexcept {
    return dims(outer...);
  }
};
template <class T, std::size_t N>
struct nested<std::array<T, N>> {
  using scalar = typename nested<T>::scalar;
  template <class... Outer>
  static dims shape(Outer... outer) noexcept {
    return nested<T>::shape(outer..., N);
  }
};
template <class T, std::size_t N>
struct nested<T[N]> {
  using scalar = typename nested<T>::scalar;
  template <class... Outer>
  static dims shape(Outer... outer) noexcept {
    return nested<T>::shape(outer..., N);
  }
};
template <class T>
using scalar_of =
    std::conditional_t<std::is_const_v<T>, typename nested<std::remove_const_t<T>>::scalar const,
                       typename nested<T>::scalar>;

// The traits of a smart pointer whose array is not exported.
struct refused_pointer {
  template <class Pointer>
  static description describe(Pointer&) noexcept;
};
}  // namespace detail

/// Exports a std::vector without copying its elements: std::vector<T> of rank 1, and
/// std::vector<std::array<T, 3>> of shape [n, 3].
template <class T, class Allocator>
struct array_traits<std::vector<T, Allocator>> {
  static_assert(
      !std::is_same_v<T, bool>,
      "dlbridge: std::vector<bool> has no elements in memory; use a std::vector<std::uint8_t>, "
      "or with_shape(std::unique_ptr<bool[]>(...), {n}) for the dtype bool");
  static description describe(std::vector<T, Allocator>& v) noexcept;  ///< The elements.
};

/// Exports a std::array of rank 1, or of a higher rank if it is nested. Its elements move into the
/// allocation of the tensor.
template <class T, std::size_t N>
struct array_traits<std::array<T, N>> {
  static description describe(std::array<T, N>& a) noexcept;  ///< The elements.
};

/// Exports the array that a std::shared_ptr owns. A T const makes the tensor read-only.
/// @par Ownership
/// The tensor shares the array. It never has flag_is_copied, because the consumer is not the only
/// owner.
template <class T>
struct array_traits<std::shared_ptr<T>> {
  static description describe(std::shared_ptr<T>& p) noexcept;  ///< The memory of the array.
  /// Prepares the array that p owns, by its prepare.
  template <class U = std::remove_const_t<T>, class = std::enable_if_t<detail::has_prepare<U>>>
  static void prepare(std::shared_ptr<T> const& p);
  /// The stream of the array that p owns.
  /// @pre The pointer is not null.
  template <class U = std::remove_const_t<T>, class = std::enable_if_t<detail::has_stream<U>>>
  static stream_ref stream(std::shared_ptr<T> const& p) noexcept {
    return array_traits<U>::stream(const_cast<U&>(*p));  // as describe does
  }
};
/// Does not compile: with_shape adds the shape that a std::shared_ptr<T[]> lacks.
template <class T>
struct array_traits<std::shared_ptr<T[]>> : detail::refused_pointer {};
/// Does not compile: with_shape adds the shape of elements, and a std::shared_ptr shares an array.
template <class T, class Deleter>
struct array_traits<std::unique_ptr<T, Deleter>> : detail::refused_pointer {};

/// A smart pointer to elements, with their shape and strides. with_shape creates it.
template <class Owner>
struct shaped {
  Owner owner;   ///< The pointer.
  dims shape;    ///< The extents.
  dims strides;  ///< The strides in elements; empty for row-major.
};

/// Adds a shape to a std::unique_ptr<T[]> or a std::shared_ptr<T[]>, which do not store one:
/// build(with_shape(std::move(p), {2, 3})).
/// @param owner The pointer.
/// @param shape The extents.
/// @param strides The strides in elements; empty for row-major.
/// @return The pointer with its shape, for build.
/// @pre The array has the elements that shape and strides describe; dlbridge cannot check it.
template <class Owner>
shaped<Owner> with_shape(Owner owner, dims const& shape, dims const& strides = dims()) {
  return {std::move(owner), shape, strides};
}
/// Does not compile: extents without braces would be one extent and one stride.
template <class Owner, class... Integer, class = detail::if_bare_extents<Integer...>>
shaped<Owner> with_shape(Owner owner, Integer...) {
  return detail::refuse_bare_extents<Owner>(), shaped<Owner>{std::move(owner), {}, {}};
}

/// Does not compile: with_shape takes a smart pointer to T[].
template <class Owner>
struct array_traits<shaped<Owner>> {
  static_assert(sizeof(Owner) == 0,
                "dlbridge: with_shape takes a std::unique_ptr<T[]> or a std::shared_ptr<T[]>. For "
                "a container whose elements do not move with it, such as a std::vector, call "
                "build_on(std::move(a), description::of(a.data(), {2, 3}))");
  static description describe(shaped<Owner>&) noexcept;  ///< So that no further error follows.
};
/// Exports the array of a std::unique_ptr with a shape; the tensor owns it.
template <class T, class Deleter>
struct array_traits<shaped<std::unique_ptr<T[], Deleter>>> {
  /// The array.
  static description describe(shaped<std::unique_ptr<T[], Deleter>>& s) noexcept {
    return description::of(s.owner.get(), s.shape, s.strides);
  }
};
/// Exports the array of a std::shared_ptr with a shape; the tensor shares it.
template <class T>
struct array_traits<shaped<std::shared_ptr<T[]>>> {
  /// The array.
  static description describe(shaped<std::shared_ptr<T[]>>& s) noexcept {
    return description::of(s.owner.get(), s.shape, s.strides);
  }
};

/// A pointer to elements that the caller keeps valid, with their shape and strides. borrow creates
/// it.
template <class T>
struct borrowed {
  T* data;       ///< The first element.
  dims shape;    ///< The extents.
  dims strides;  ///< The strides in elements; empty for row-major.
};

/// Describes memory that the caller keeps valid, for build: build(borrow(p, {rows, columns})).
/// @tparam T The element type. T const makes the tensor read-only.
/// @param data The first element.
/// @param shape The extents.
/// @param strides The strides in elements; empty for row-major.
/// @par Lifetime
/// The memory must outlive every tensor built on it.
template <class T>
borrowed<T> borrow(T* data, dims const& shape, dims const& strides = dims()) noexcept {
  return {data, shape, strides};
}
/// Does not compile: extents without braces would be one extent and one stride.
template <class T, class... Integer, class = detail::if_bare_extents<Integer...>>
borrowed<T> borrow(T* data, Integer...) noexcept {
  return detail::refuse_bare_extents<T>(), borrowed<T>{data, {}, {}};
}
namespace detail {
template <class T>
borrowed<scalar_of<T>> borrow_elements(T* first, std::size_t count) noexcept {
  return {reinterpret_cast<scalar_of<T>*>(first), nested<std::remove_const_t<T>>::shape(count), {}};
}

// Whether a range is a view that does not own its elements: it is trivially copyable, has the same
// type of elements when it is const, and is not a std::array, which contains its elements. A view
// of elements that are const can be made of a pointer and a count, unlike a class that contains
// them.
template <class Range, class = void>
struct is_view : std::false_type {};
template <class Range>
struct is_view<Range,
               std::enable_if_t<std::is_same_v<decltype(std::declval<Range&>().data()),
                                               decltype(std::declval<Range const&>().data())>>> {
  using pointer = decltype(std::declval<Range const&>().data());
  static constexpr bool value = std::is_trivially_copyable_v<Range> &&
                                (!std::is_const_v<std::remove_pointer_t<pointer>> ||
                                 std::is_constructible_v<Range, pointer, std::size_t>) &&
                                std::is_same_v<typename nested<Range>::scalar, Range>;
};

// Whether a range has a shape: the arrays of Eigen, xtensor, Kokkos and Armadillo also have data()
// and size(), and borrow must not export them as rank 1.
template <class Range, template <class> class Member, class = void>
constexpr bool has_member = false;
template <class Range, template <class> class Member>
constexpr bool has_member<Range, Member, std::void_t<Member<Range>>> = true;
template <class Range>
using rows_of = decltype(std::declval<Range&>().rows());
template <class Range>
using shape_in = decltype(std::declval<Range&>().shape());
template <class Range>
using first_shape_of = decltype(std::declval<Range&>().shape(0));
template <class Range>
using first_extent_of = decltype(std::declval<Range&>().extent(0));
template <class Range>
using dimensions_of = decltype(std::declval<Range&>().dimensions());
template <class Range>
using n_rows_of = decltype(std::declval<Range&>().n_rows);
template <class Range>
constexpr bool is_ordinary_range =
    !has_member<Range, rows_of> && !has_member<Range, shape_in> &&
    !has_member<Range, first_shape_of> && !has_member<Range, first_extent_of> &&
    !has_member<Range, dimensions_of> && !has_member<Range, n_rows_of>;
}  // namespace detail

/// Describes a C array of any rank that the caller keeps valid, for build.
/// @param array The array.
template <class T, std::size_t N>
borrowed<detail::scalar_of<T>> borrow(T (&array)[N]) noexcept {
  return detail::borrow_elements(array, N);
}
/// Describes a contiguous range with data() and size(), such as a span, for build. The caller keeps
/// the elements valid. The rank is 1, or higher if the elements are arrays.
/// @param range The range: an lvalue, or a view.
template <class Range, class = decltype(std::declval<Range&>().data())>
auto borrow(Range&& range) noexcept {
  static_assert(
      std::is_lvalue_reference_v<Range> || detail::is_view<std::remove_const_t<Range>>::value,
      "dlbridge: borrow does not keep a container alive; build(std::move(container)) does");
  static_assert(detail::is_ordinary_range<std::remove_reference_t<Range>>,
                "dlbridge: this range has a shape, which borrow would lose. Pass it, "
                "borrow(a.data(), {rows, columns}, {strides...}), or share the array, "
                "build(std::make_shared<T>(...))");
  return detail::borrow_elements(range.data(), static_cast<std::size_t>(range.size()));
}

/// Exports memory that the caller keeps valid until the tensor is freed.
template <class T>
struct array_traits<borrowed<T>> {
  static constexpr bool borrows = true;  ///< The caller keeps the memory.
  /// The memory.
  static description describe(borrowed<T>& b) noexcept {
    return description::of(b.data, b.shape, b.strides);
  }
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/std.inl>
