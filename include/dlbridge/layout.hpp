// try_count, is_row_major, try_reach and others: compute sizes, strides and addresses from shapes,
// with checks for overflow.
// layer: values
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// @name Arithmetic on shapes and strides
/// Preconditions of every function: rank is at most max_rank, extents are not negative, and strides
/// count elements (spec 1.7). Null strides mean row-major. The functions ignore the strides of
/// dimensions of extent 1 and of empty tensors, which have no meaning, and read neither shape nor
/// strides at rank 0. The element count and the reach may overflow only in functions whose name
/// begins with try_.
/// @{

/// Computes out = a * b.
/// @return Whether the result fits; if not, the value of out is unspecified.
inline bool try_multiply(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept;

/// Computes out = a + b.
/// @return Whether the result fits; if not, the value of out is unspecified.
bool try_add(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept;

/// Computes the number of elements: 1 at rank 0, and 0 if any extent is 0.
/// @param rank Number of dimensions.
/// @param shape rank extents.
/// @param[out] out The number of elements.
/// @return Whether the result fits; if not, the value of out is unspecified.
bool try_count(int rank, std::int64_t const* shape, std::int64_t& out) noexcept;

/// The number of elements: 1 at rank 0, and 0 if any extent is 0.
/// @pre The number fits 64 bits, as in every tensor that check_tensor accepts.
inline std::int64_t count_of(int rank, std::int64_t const* shape) noexcept;

/// The stride, in elements, of dimension i of a row-major tensor.
std::int64_t row_major_stride(int rank, std::int64_t const* shape, int i) noexcept;

/// Writes the strides of a row-major tensor; all of them are above 0.
inline void fill_row_major(int rank, std::int64_t const* shape, std::int64_t* strides) noexcept;

/// Writes the strides of a column-major tensor; all of them are above 0.
void fill_column_major(int rank, std::int64_t const* shape, std::int64_t* strides) noexcept;

/// Whether the elements are compact with the last dimension fastest (C order, layout_right).
inline bool is_row_major(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept;

/// Whether the elements are compact with the first dimension fastest (Fortran order, layout_left).
inline bool is_column_major(int rank, std::int64_t const* shape,
                            std::int64_t const* strides) noexcept;

/// Whether the elements fill one block without gaps, in any order, with no negative stride.
bool is_compact(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept;

/// Computes the offsets of the elements with the lowest and the highest address.
/// @param rank Number of dimensions.
/// @param shape rank extents.
/// @param strides rank strides in elements, or null for row-major.
/// @param[out] lowest Offset from the first element, in elements; 0 or below.
/// @param[out] highest Offset from the first element, in elements; 0 or above.
/// @return Whether the offsets fit; if not, their values are unspecified.
bool try_reach(int rank, std::int64_t const* shape, std::int64_t const* strides,
               std::int64_t& lowest, std::int64_t& highest) noexcept;

/// Whether two indices may refer to the same memory, because a stride is 0 or shorter than the span
/// of the faster dimensions. It may also return true for interleaved strides that never overlap.
bool has_alias(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept;
/// @}

namespace detail {
// try_multiply and try_add for compilers without overflow builtins. They write out only if the
// result fits.
bool try_multiply_portable(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept;
bool try_add_portable(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept;

// Keeps a loop over the few dimensions of a tensor as it is. GCC replaces a copy by `rep movs`,
// which takes longer to start than to copy the numbers of eight dimensions, and it vectorizes other
// loops.
DLBRIDGE_INLINE void keep_loop() noexcept;

// Copies the extents or the strides of a tensor.
template <class Integer>
DLBRIDGE_INLINE void copy_extents(Integer const* from, int count, std::int64_t* to) noexcept;

// The stride of the next slower dimension, never 0. It equals step if the dimension is empty or if
// the product overflows, which only happens in empty tensors.
inline std::int64_t step_over(std::int64_t step, std::int64_t extent) noexcept;

// Whether the elements have no gaps when dimension `first` is the fastest, `first + step` the next
// slower one, and so on.
DLBRIDGE_ALIGNED inline bool is_compact_along(int rank, int first, int step,
                                              std::int64_t const* shape,
                                              std::int64_t const* strides) noexcept;

inline int dimensions_above_one(int rank, std::int64_t const* shape) noexcept;

// Writes the indices of the dimensions whose extent is above 1 to order, sorted by the absolute
// value of their stride. Returns their number, or -1 for an empty tensor.
int sort_by_step(int rank, std::int64_t const* shape, std::int64_t const* strides,
                 int* order) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/layout.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/layout.ipp>
#endif
